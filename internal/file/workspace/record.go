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

// The kinds of changes. Replace includes appending; Mkdir creates one directory.
const (
	Create  Kind = "create"
	Replace Kind = "replace"
	Delete  Kind = "delete"
	Rename  Kind = "rename"
	Chmod   Kind = "chmod"
	Mkdir   Kind = "mkdir"
)

// Before describes the state before a change, with the new hash and mode.
type Before struct {
	Kind Kind
	// Path is the real path: relative to the workspace, or absolute in an allowed directory.
	Path string
	// To is the new path of a rename.
	To string
	// Mode is the old mode; 0 if there was nothing.
	Mode fs.FileMode
	// Plain is Mode without the access control list; nil if there was none.
	Plain *fs.FileMode
	// Data is the content of a regular file or the target of a symlink. It is nil for a directory, and if Omitted.
	Data []byte
	// Omitted is set if the file was larger than DefaultReadLimit.
	Omitted bool
	// Size, in bytes, and ModTime of the old file.
	Size    int64
	ModTime time.Time
	// NewHash is the Hash of the file's new content. It is empty for directories, removals, and files larger than
	// DefaultReadLimit.
	NewHash string
	// NewMode is the file's new mode; 0 if unknown or unchanged.
	NewMode fs.FileMode
}

// Recorder is called before every change of a file, so that it can be undone. BeforeChange runs while the directory
// is locked: it must not write there through the workspace. ctx is that of the view (see WithContext) or of Batch.
// An error prevents the change. A recorded change may still fail.
type Recorder interface {
	BeforeChange(ctx context.Context, b Before) error
}

// BatchRecorder is a Recorder for which many changes at once cost less.
type BatchRecorder interface {
	Recorder
	// BeforeChanges is BeforeChange for all changes, before any is made. An error prevents them all.
	BeforeChanges(ctx context.Context, changes iter.Seq[Before]) error
}

type after struct {
	to   *resolvedPath // the new place of a rename
	hash string
	mode fs.FileMode
	more []byte // appended to a file that stays in place
}

// hash returns the Hash of data if there is a recorder.
func (w *Workspace) hash(data []byte) string {
	if w.recorder == nil {
		return ""
	}
	return Hash(data)
}

// record passes what the place held to the recorder, if there is one.
func (w *Workspace) record(kind Kind, p *resolvedPath, then after) error {
	if w.recorder == nil {
		return nil
	}
	b, err := w.before(kind, p, then)
	if err != nil {
		return err
	}
	return w.fail("record the change of", p.given, w.recorder.BeforeChange(w.ctx, b))
}

func (w *Workspace) recordAll(steps []*batchStep) error {
	many, ok := w.recorder.(BatchRecorder)
	if !ok {
		for _, s := range steps {
			if err := w.record(s.kind(), s.resolvedPath, s.after()); err != nil {
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
			if b, unread = w.before(at.kind(), at.resolvedPath, at.after()); unread != nil || !yield(b) {
				return
			}
		}
	})
	if unread != nil {
		return unread
	}
	return w.fail("record the change of", at.given, err)
}

func (w *Workspace) before(kind Kind, p *resolvedPath, then after) (Before, error) {
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

// plain returns the mode without the access control list; nil if there is none.
func (p *resolvedPath) plain() *fs.FileMode {
	mode := p.info.Mode()
	if mode.Perm()&0o070 == 0 || !mode.IsRegular() && !mode.IsDir() {
		return nil
	}
	f, err := p.dir.OpenFile(p.name, openFlags, 0)
	if err != nil { // unknown: a restored file gives nothing to the group
		mode &^= 0o070
		return &mode
	}
	defer f.Close()
	return rights.Plain(f, mode)
}

// HasAccessList reports whether the file or directory has an access control list.
func (w *Workspace) HasAccessList(path string) bool {
	p, err := w.locate(path, false)
	if err != nil {
		return false
	}
	defer p.close()
	return !p.missing() && p.plain() != nil
}

// read stores the content; for a renamed file the hash is enough.
func (b *Before) read(p *resolvedPath, kind Kind) error {
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
		return nil // it can be moved anyway
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

// sum stores the hash of a file that is not too large.
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

func sameContent(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
