package fileedit

import (
	"github.com/toolhost/toolhost/internal/files/textedit/patch"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// Batch turns what a patch makes of files into changes that the workspace
// makes all at once, each only if its file still is what the patch saw.
func Batch(changes []patch.FileChange) []workspace.Change {
	list := make([]workspace.Change, len(changes))
	for i, c := range changes {
		w := workspace.Change{Path: c.Path, Data: c.Data, Mode: c.Mode, Old: c.Old}
		// Nil would mean that the old content stays, or may be any.
		if w.Data == nil {
			w.Data = []byte{}
		}
		if w.Old == nil {
			w.Old = []byte{}
		}
		switch c.Kind {
		case patch.Create, patch.Copy:
			w.Kind, w.Old = workspace.Create, nil
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
