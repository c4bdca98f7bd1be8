package workspace

import (
	"errors"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/host/tool"
)

// Kind is the kind of a change.
type Kind string

// The kinds of changes. Replace includes appending; Mkdir makes one directory.
const (
	Create  Kind = "create"
	Replace Kind = "replace"
	Delete  Kind = "delete"
	Rename  Kind = "rename"
	Chmod   Kind = "chmod"
	Mkdir   Kind = "mkdir"
)

// Before is what a change is going to replace.
type Before struct {
	Kind Kind
	// Path is the real path of what changes: relative to the workspace, or
	// absolute in an allowed directory.
	Path string
	// To is the new path of a rename.
	To string
	// Mode is what was there; 0 when nothing was.
	Mode fs.FileMode
	// Data is the content that a regular file had, and for a symlink its
	// target. It is nil for a directory, and when Omitted.
	Data []byte
	// Omitted says that the file was larger than DefaultReadLimit.
	Omitted bool
}

// Recorder is told of every change of a file before it happens, so that it can
// be undone. BeforeChange is called while the directory is locked: it must not
// write there through the workspace. An error prevents the change.
type Recorder interface {
	BeforeChange(Before) error
}

// record tells the recorder, when there is one, what the place held. to is
// the new place of a rename.
func (w *Workspace) record(kind Kind, p *place, to *place) error {
	if w.recorder == nil {
		return nil
	}
	b := Before{Kind: kind, Path: p.path()}
	if to != nil {
		b.To = to.path()
	}
	if !p.missing() {
		b.Mode = p.info.Mode()
		if err := b.read(p, kind); err != nil {
			return w.fail("keep the old content of", p.given, err)
		}
	}
	return w.fail("record the change of", p.given, w.recorder.BeforeChange(b))
}

// read keeps the content, which a rename and a chmod do not need.
func (b *Before) read(p *place, kind Kind) error {
	mode := p.info.Mode()
	switch {
	case kind == Rename || kind == Chmod:
		return nil
	case mode&fs.ModeSymlink != 0:
		target, err := p.dir.Readlink(p.name)
		b.Data = []byte(target)
		return err
	case !mode.IsRegular():
		return nil
	}
	f, info, err := p.openFile()
	if err != nil {
		return err
	}
	defer f.Close()
	b.Data, err = readAll(f, info, p.given, 0)
	if errors.Is(err, &tool.Error{Code: tool.TooLarge}) {
		b.Data, b.Omitted = nil, true
		return nil
	}
	return err
}

// recordReplaced tells of what a rename is going to replace.
func (w *Workspace) recordReplaced(to *place) error {
	if to.missing() {
		return nil
	}
	return w.record(Replace, to, nil)
}

// Abs is the absolute path of what Rel gives: lexical, without following
// symlinks. Errors are those of Rel.
func (w *Workspace) Abs(path string) (string, error) {
	t, rel, err := w.lexical(path)
	if err != nil {
		return "", err
	}
	return t.join(rel), nil
}

// sameContent reports whether info is of the same state of the same file.
func sameContent(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
