// Package fileedit changes or creates one file of a workspace for the edit tools, or previews that.
package fileedit

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/patch"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// diffContext is the number of unchanged lines around a change in a diff.
const diffContext = 3

// Edit is a change of one file.
type Edit struct {
	// Path is the file as the caller named it.
	Path string
	// Create creates a new file: the path must not exist, and missing directories are created. Otherwise the file
	// must exist.
	Create bool
	// Change returns the new content for the old one, which is nil for a new file. If it fails, its error is
	// returned and nothing changes. It may be called more than once.
	Change func(old []byte) ([]byte, error)
}

// Outcome is the actual or previewed change.
type Outcome struct {
	// Path is relative to the workspace, or absolute in an allowed directory.
	Path     string
	Created  bool
	Old, New []byte
}

// Changed reports whether the file changes.
func (o *Outcome) Changed() bool { return o.Created || !bytes.Equal(o.Old, o.New) }

// Diff returns the change as a unified diff with three lines of context.
func (o *Outcome) Diff() string {
	if o.Created {
		return textedit.Diff(textedit.DevNull, o.Path, nil, o.New, diffContext)
	}
	return textedit.Diff(o.Path, o.Path, o.Old, o.New, diffContext)
}

// maxShown limits the diff in a result, in bytes: the model made the change itself.
const maxShown = 32 << 10

// ShownDiff is Diff for a result: of a long one the first lines, and how many are left out.
func (o *Outcome) ShownDiff() string {
	diff := o.Diff()
	if len(diff) <= maxShown {
		return diff
	}
	cut := strings.LastIndexByte(diff[:maxShown], '\n') + 1
	return fmt.Sprintf("%s[%d more lines of this diff left out; the change is made as a whole, read %s to see it]\n",
		diff[:cut], strings.Count(diff[cut:], "\n"), o.Path)
}

// Files returns the file if it changed.
func (o *Outcome) Files() []string {
	if !o.Changed() {
		return nil
	}
	return []string{o.Path}
}

// Result returns a tool's result: a JSON object with message, actual_replacements and diff.
func (o *Outcome) Result(message string, replacements int) *tool.Result {
	return tool.JSON(struct {
		Message            string `json:"message"`
		ActualReplacements int    `json:"actual_replacements"`
		Diff               string `json:"diff"`
	}{message, replacements, o.ShownDiff()}).Affecting(o.Files()...)
}

// Plan returns a tool's plan.
func (o *Outcome) Plan() *tool.Plan {
	preview := o.Diff()
	if o.Created && preview != "" {
		preview = "new file: " + o.Path + "\n" + preview
	}
	return &tool.Plan{FilesAffected: o.Files(), Preview: preview}
}

// Apply makes the edit atomically: the file is replaced as a whole, or left as it is, including time stamps.
// Errors are those of the workspace and of Edit.Change.
func Apply(ctx context.Context, ws *workspace.Workspace, e Edit) (*Outcome, error) {
	ws = ws.WithContext(ctx)
	if e.Create {
		o, err := e.creation(ws)
		if err != nil {
			return nil, err
		}
		_, err = ws.WriteFile(e.Path, o.New, workspace.WriteOptions{Parents: true, Exclusive: true})
		return o, err
	}
	rel, err := ws.Rel(e.Path)
	if err != nil {
		return nil, err
	}
	o := &Outcome{Path: rel}
	return o, ws.Update(e.Path, func(old []byte, _ fs.FileInfo) ([]byte, error) {
		o.Old = old
		o.New, err = e.Change(old)
		return o.New, err
	})
}

// Preview returns what Apply would do. Its errors are those of Apply that can be foreseen.
func Preview(ctx context.Context, ws *workspace.Workspace, e Edit) (*Outcome, error) {
	ws = ws.WithContext(ctx)
	if _, err := ws.Check(e.Path, workspace.Write); err != nil {
		return nil, err
	}
	if e.Create {
		return e.creation(ws)
	}
	rel, err := ws.Rel(e.Path)
	if err != nil {
		return nil, err
	}
	o := &Outcome{Path: rel}
	if o.Old, _, err = ws.ReadFile(e.Path, 0); err != nil {
		return nil, err
	}
	o.New, err = e.Change(o.Old)
	return o, err
}

func (e Edit) creation(ws *workspace.Workspace) (*Outcome, error) {
	rel, err := ws.Rel(e.Path)
	if err != nil {
		return nil, err
	}
	if _, err := ws.Lstat(e.Path); err == nil {
		return nil, tool.Errorf(tool.AlreadyExists, "%s already exists", e.Path).
			Suggest("Choose another name, or change the file that is there.").With("path", e.Path)
	} else if code := tool.CodeOf(err); code != tool.NotFound {
		return nil, err
	}
	data, err := e.Change(nil)
	return &Outcome{Path: rel, Created: true, New: data}, err
}

// Batch converts a patch's changes for the workspace, which makes them all at once if each file still is what the
// patch saw.
func Batch(changes []patch.FileChange) []workspace.Change {
	list := make([]workspace.Change, len(changes))
	for i, c := range changes {
		w := workspace.Change{Path: c.Path, Data: c.Data, Mode: c.Mode, Old: c.Old}
		// Nil would keep the old content, or mean any.
		if w.Data == nil {
			w.Data = []byte{}
		}
		if w.Old == nil {
			w.Old = []byte{}
		}
		switch c.Kind {
		case patch.Create, patch.Copy:
			w.Kind, w.Old = workspace.Create, nil
			if c.Kind == patch.Create && w.Mode != 0 {
				w.Mode |= 0o022 // git says whether it is executable; the umask decides the rest
			}
		case patch.Delete:
			w.Kind, w.Data = workspace.Delete, nil
		case patch.Rename:
			w.Kind, w.Path, w.To = workspace.Rename, c.From, c.Path
		default:
			w.Kind = workspace.Replace
			if string(c.Old) == string(c.Data) {
				w.Kind, w.Data = workspace.Chmod, nil
			}
		}
		list[i] = w
	}
	return list
}
