package host

import (
	"context"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// Views makes copy-on-write views of the workspace for a call's processes.
type Views interface {
	Open(ctx context.Context) (View, error)
	// Kept returns the changes of the view that was kept under a digest.
	Kept(ctx context.Context, digest string) (*Changes, error)
}

// View is a copy-on-write view of the workspace.
type View interface {
	// Context returns the context of a call whose processes change only the view.
	Context(ctx context.Context) context.Context
	// Changes returns the changes in the view, once all processes have ended.
	Changes(ctx context.Context) (*Changes, error)
	// Keep stores the view under the digest of its changes.
	Keep(ctx context.Context, digest string) error
	// Commit applies the changes with that digest to the workspace, in the context of a call. The error is a
	// conflict if the workspace has changed meanwhile.
	Commit(ctx context.Context, digest string) error
	// Place returns where the view lies, for a person.
	Place() string
	// Close drops the view with its changes.
	Close(ctx context.Context)
}

// Changes are the changes of a call in a view.
type Changes struct {
	Files []FileChange `json:"files"`
	// Digest identifies exactly these changes.
	Digest string `json:"digest"`
	// Failed is how the call failed in the view, if it did, and View why the view may be the cause.
	Failed string `json:"failed,omitempty"`
	View   string `json:"view,omitempty"`
	// Diff is for people.
	Diff string `json:"-"`
}

// FileChange is the change of one path.
type FileChange struct {
	Path string `json:"path"`
	// Change is create, modify, delete, replace (one kind of file by another) or mode.
	Change string `json:"change"`
	// Kind is the kind of what is there now, or was: file, directory, symlink.
	Kind string `json:"kind"`
	// Bytes and SHA256 are those of the new content.
	Bytes  int64  `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Linked is set for a file with further names (hard links), which a real call would change too; a view's
	// change makes it a separate file.
	Linked bool `json:"linked,omitempty"`
}

// inView is implemented by tools all of whose changes are made by processes of the call.
type inView interface{ InView() bool }

func (c *call) viewable() bool {
	t, ok := c.entry.Tool.(inView)
	return ok && t.InView() && !c.entry.foreign
}

// preview adds what the call changes in a view to the plan of a dry run.
func (c *call) preview(ctx context.Context) error {
	if !c.request.InView || !c.viewable() || c.host.options.Views == nil {
		return nil
	}
	if a := c.outcome.Decision.Action; a != Allow && a != Ask && a != Review {
		return nil
	}
	changes, err := c.try(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		e := tool.AsError(err)
		c.outcome.Plan = further(c.outcome.Plan, "What it would change is not known: "+
			strings.TrimSpace(e.Message+". "+e.Suggestion)+"\n")
		return nil
	}
	c.outcome.Changes = changes
	plan := further(c.outcome.Plan, changes.told())
	plan.FilesAffected = changes.paths()
	c.outcome.Plan = plan
	return nil
}

// try runs the call in a view, which is then dropped.
func (c *call) try(ctx context.Context) (*Changes, error) {
	view, err := c.host.options.Views.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer view.Close(ctx)
	_, failed := c.runIn(network.With(ctx, &network.Log{Offline: true}), view)
	if code := tool.CodeOf(failed); code == tool.Unsupported || code == tool.Unavailable || ctx.Err() != nil {
		return nil, failed
	}
	changes, err := view.Changes(ctx)
	if err == nil && failed != nil {
		changes.Failed, changes.View = tool.AsError(failed).Message, ownDoing(tool.AsError(failed).Message)
	}
	return changes, err
}

func (c *call) runIn(ctx context.Context, view View) (*tool.Result, error) {
	def := c.entry.Tool.Definition()
	timeout := def.Timeout + def.Grace
	if def.Timeout <= 0 {
		timeout = time.Duration(c.host.timeout.Load())
	}
	ctx, cancel := context.WithTimeout(view.Context(ctx), timeout)
	defer cancel()
	release, err := c.host.slot(ctx)
	if err != nil {
		return nil, timeoutOrCancel(ctx, err, c.entry.Name, timeout)
	}
	defer release()
	result, err := c.callTool(ctx)
	if err != nil {
		return nil, timeoutOrCancel(ctx, err, c.entry.Name, timeout)
	}
	if result == nil {
		result = new(tool.Result)
	}
	result.FilesAffected = nil // what it names is not what it changed
	return result, nil
}

// further returns a plan with more to show; plan may be nil.
func further(plan *tool.Plan, text string) *tool.Plan {
	if plan == nil {
		return &tool.Plan{Preview: text}
	}
	more := *plan
	if more.Preview != "" && !strings.HasSuffix(more.Preview, "\n") {
		more.Preview += "\n"
	}
	more.Preview += text
	return &more
}

func (ch *Changes) paths() []string {
	paths := make([]string, len(ch.Files))
	for i := range ch.Files {
		paths[i] = ch.Files[i].Path
	}
	return paths
}

func (ch *Changes) told() string {
	var b strings.Builder
	if ch.Failed != "" {
		b.WriteString("In a view of the workspace it failed: " + strings.TrimSpace(ch.Failed) + "\n")
		b.WriteString(ch.View)
	}
	if len(ch.Files) == 0 {
		b.WriteString("It changed no file.\n")
	}
	b.WriteString(ch.Diff)
	return b.String()
}

// viewFailures are messages of programs where a view differs from the workspace.
var viewFailures = []struct {
	prints []string
	why    string
}{
	{[]string{"cross-device link", "EXDEV", "os error 18"},
		"a directory that was there before cannot be renamed in it, only copied and removed"},
	{[]string{"value too large for defined data type", "EOVERFLOW", "os error 75"},
		"a file of another owner or group cannot be changed in it"},
	{[]string{"too many links", "stale file handle", "ESTALE", "os error 116"},
		"hard links that were there before do not hold together in it"},
	{[]string{"could not resolve", "name resolution", "network is unreachable", "no such host", "ENOTFOUND",
		"ENETUNREACH",
		"connection refused", "dial tcp"},
		"what is only looked at reaches no network, and nothing in a view does by network = \"allow\": it takes a list of hosts"},
}

// ownDoing returns why the view may have caused a failure, or "".
func ownDoing(printed string) string {
	printed = strings.ToLower(printed)
	for _, f := range viewFailures {
		for _, text := range f.prints {
			if strings.Contains(printed, strings.ToLower(text)) {
				return "This may be the view's own doing: " + f.why + ". The real call may succeed.\n"
			}
		}
	}
	return ""
}
