package kit

import (
	"os/exec"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// Outcome is what the host learns about a call besides the contract's result.
type Outcome struct {
	Files     []string
	Artifacts []tool.Artifact
	Truncated bool
	// About is metadata of the call rather than of its result.
	About map[string]any
}

// On adds the outcome, except the files, to a result.
func (o *Outcome) On(r *tool.Result) *tool.Result {
	r.Truncated, r.Artifacts, r.Metadata = o.Truncated, o.Artifacts, o.About
	return r
}

// Ran adds metadata about a command's output: whether it is cut, and the files with all of it.
func (o *Outcome) Ran(ended *proc.Result) {
	o.Truncated = o.Truncated || ended.Stdout.Truncated() || ended.Stderr.Truncated()
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

// Confining adapts confine for proc.Command and adds its metadata. confine may be nil.
func (o *Outcome) Confining(confine func(*exec.Cmd) (map[string]any, error)) func(*exec.Cmd) error {
	if confine == nil {
		return nil
	}
	return func(cmd *exec.Cmd) (err error) {
		o.About, err = confine(cmd)
		return err
	}
}

// Advise returns the sandbox's part in a failure, from refused hosts or from denied on what a
// command printed, else next. denied may be nil.
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
