package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/rights"
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
	// Plain is Mode without the access control list that was there; nil where none was.
	Plain *fs.FileMode
	// Data is the content that a regular file had, and for a symlink its
	// target. It is nil for a directory, and when Omitted.
	Data []byte
	// Omitted says that the file was larger than DefaultReadLimit.
	Omitted bool
	// Size, in bytes, and ModTime are those of what was there.
	Size    int64
	ModTime time.Time
	// NewHash is the Hash of the content that the file is going to have, or
	// that a renamed file has and keeps. It is empty for directories, for what
	// goes, and for files larger than DefaultReadLimit.
	NewHash string
	// NewMode is the mode that the file is going to have; 0 where that is not
	// known or does not change.
	NewMode fs.FileMode
}

// Recorder is told about every change of a file before it happens, so that it can
// be undone. BeforeChange is called while the directory is locked: it must not
// write there through the workspace. ctx is that of the view through which the
// change is made, see WithContext, or the one given to Batch. An error prevents
// the change. A change that is recorded may fail all the same.
type Recorder interface {
	BeforeChange(ctx context.Context, b Before) error
}

// BatchRecorder is a Recorder to which many changes at once cost less than each by
// itself.
type BatchRecorder interface {
	Recorder
	// BeforeChanges is BeforeChange for each of the changes, none of which is made
	// before it returns. An error prevents them all.
	BeforeChanges(ctx context.Context, changes iter.Seq[Before]) error
}

// after is what a change makes of a place.
type after struct {
	to   *place // the new place of a rename
	hash string
	mode fs.FileMode
	more []byte // what is added to a file that stays in place
}

// hash gives the Hash of data for the recorder, when there is one.
func (w *Workspace) hash(data []byte) string {
	if w.recorder == nil {
		return ""
	}
	return Hash(data)
}

// record tells the recorder, when there is one, what the place held.
func (w *Workspace) record(kind Kind, p *place, then after) error {
	if w.recorder == nil {
		return nil
	}
	b, err := w.before(kind, p, then)
	if err != nil {
		return err
	}
	return w.fail("record the change of", p.given, w.recorder.BeforeChange(w.ctx, b))
}

// recordAll does so for all steps of a batch.
func (w *Workspace) recordAll(steps []*batchStep) error {
	many, ok := w.recorder.(BatchRecorder)
	if !ok {
		for _, s := range steps {
			if err := w.record(s.kind(), s.place, s.after()); err != nil {
				return err
			}
		}
		return nil
	}
	at := steps[0]
	var unread error
	err := many.BeforeChanges(w.ctx, func(yield func(Before) bool) {
		for _, at = range steps {
			var b Before
			if b, unread = w.before(at.kind(), at.place, at.after()); unread != nil || !yield(b) {
				return
			}
		}
	})
	if unread != nil {
		return unread
	}
	return w.fail("record the change of", at.given, err)
}

// before is what the place holds.
func (w *Workspace) before(kind Kind, p *place, then after) (Before, error) {
	b := Before{Kind: kind, Path: p.path(), NewHash: then.hash, NewMode: then.mode}
	if then.to != nil {
		b.To = then.to.path()
	}
	if !p.missing() {
		b.Mode, b.Size, b.ModTime = p.info.Mode(), p.info.Size(), p.info.ModTime()
		if kind == Replace || kind == Delete {
			b.Plain = p.plain()
		}
		err := b.read(p, kind)
		if errors.Is(err, errRaced) {
			err = changing(p.given)
		}
		if err != nil {
			return b, w.fail("keep the old content of", p.given, err)
		}
	}
	if then.more != nil && !b.Omitted {
		b.NewHash = Hash(slices.Concat(b.Data, then.more))
	}
	return b, nil
}

// plain is the mode of what is there without its access control list; nil where it
// has none.
func (p *place) plain() *fs.FileMode {
	mode := p.info.Mode()
	if mode.Perm()&0o070 == 0 || !mode.IsRegular() && !mode.IsDir() {
		return nil
	}
	f, err := p.dir.OpenFile(p.name, openFlags, 0)
	if err != nil { // it is not known: what comes back gives nothing to the group
		mode &^= 0o070
		return &mode
	}
	defer f.Close()
	return rights.Plain(f, mode)
}

// HasAccessList reports whether there is a file or directory whose mode is that of an
// access control list.
func (w *Workspace) HasAccessList(path string) bool {
	p, err := w.locate(path, false)
	if err != nil {
		return false
	}
	defer p.close()
	return !p.missing() && p.plain() != nil
}

// read keeps the content; of a renamed file the hash is enough.
func (b *Before) read(p *place, kind Kind) error {
	mode := p.info.Mode()
	switch {
	case kind == Chmod || kind == Rename && !mode.IsRegular():
		return nil
	case mode&fs.ModeSymlink != 0:
		target, err := p.dir.Readlink(p.name)
		b.Data = []byte(target)
		return err
	case !mode.IsRegular():
		return nil
	case p.data != nil && kind != Rename:
		b.Data = p.data
		return nil
	}
	f, info, err := p.openFile()
	if kind == Rename && errors.Is(err, fs.ErrPermission) {
		return nil // it can be moved all the same
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if kind == Rename {
		return b.sum(f)
	}
	b.Data, err = readAll(f, info.Size(), p.given, 0)
	if errors.Is(err, &tool.Error{Code: tool.TooLarge}) {
		b.Data, b.Omitted = nil, true
		return nil
	}
	return err
}

// sum learns the hash of a file that is not too large for that.
func (b *Before) sum(f *os.File) error {
	if b.Size > DefaultReadLimit {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	b.NewHash = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// recordReplaced reports what a rename is going to replace: it goes before the
// other file comes.
func (w *Workspace) recordReplaced(from, to *place) error {
	if to.missing() || os.SameFile(from.info, to.info) {
		return nil
	}
	return w.record(Delete, to, after{})
}

// sameContent reports whether info is of the same state of the same file.
func sameContent(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
