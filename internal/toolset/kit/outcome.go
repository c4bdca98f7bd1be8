package kit

import (
	"os/exec"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// Outcome is what of a call the host is told beside the contract's result.
type Outcome struct {
	Files     []string
	Artifacts []tool.Artifact
	Truncated bool
	// About is of the call rather than of what it came to.
	About map[string]any
}

// On puts the outcome on a result, but for the files.
func (o *Outcome) On(r *tool.Result) *tool.Result {
	r.Truncated, r.Artifacts, r.Metadata = o.Truncated, o.Artifacts, o.About
	return r
}

// Ran adds what is known of a command's output: whether a part of it is left
// out, and the files that hold the whole.
func (o *Outcome) Ran(ended *proc.Result) {
	o.Truncated = ended.Stdout.Truncated() || ended.Stderr.Truncated()
	for _, stream := range []struct {
		name string
		proc.Output
	}{{"stdout", ended.Stdout}, {"stderr", ended.Stderr}} {
		if stream.Path != "" {
			o.Artifacts = append(o.Artifacts,
				tool.Artifact{Name: stream.name, Path: stream.Path, Bytes: stream.PathBytes})
		}
	}
}

// Confining fits what confines a process to proc.Command, and adds what it says
// of it. Nil confines nothing.
func (o *Outcome) Confining(confine func(*exec.Cmd) (map[string]any, error)) func(*exec.Cmd) error {
	if confine == nil {
		return nil
	}
	return func(cmd *exec.Cmd) (err error) {
		o.About, err = confine(cmd)
		return err
	}
}

// Advise returns what the sandbox is behind, by the hosts that it refused or as denied
// tells by what a command printed, or else next. denied may be nil.
func Advise(denied func(printed string) string, ended *proc.Result, next string) string {
	if said := ended.Refused(); said != "" {
		return said
	}
	if denied != nil {
		if said := denied(ended.Stderr.String() + "\n" + ended.Stdout.String()); said != "" {
			return said
		}
	}
	return next
}
