package search

import (
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

type opener struct {
	ws   *workspace.Workspace
	fast *fastOpener // nil where the system has no quick way
}

func newOpener(ws *workspace.Workspace) *opener { return &opener{ws, newFastOpener(ws)} }

func (o *opener) close() {
	if o.fast != nil {
		o.fast.close()
	}
}

// open opens a regular file for reading and returns its size in bytes, or -1.
func (o *opener) open(name string) (source, int64, error) {
	if o.fast != nil && !path.IsAbs(name) && !filepath.IsAbs(name) {
		f, size, err := o.fast.open(name)
		if !errors.Is(err, errors.ErrUnsupported) {
			return f, size, err
		}
	}
	f, err := o.ws.Open(name)
	if err != nil {
		return nil, 0, err
	}
	return f, -1, nil
}

type source interface {
	Read(p []byte) (int, error)
	Close() error
}

var _ source = (*os.File)(nil)
