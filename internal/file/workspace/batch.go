package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Change is one change of a Batch.
type Change struct {
	Kind Kind // Create, Replace, Delete, Rename or Chmod
	Path string
	// To is the new path of a Rename.
	To string
	// Data is the new content, for Create and Replace. For Rename nil keeps the old content.
	Data []byte
	// Read returns the new content instead of Data. It is called once, perhaps concurrently with those of other
	// changes.
	Read func() ([]byte, error)
	// Mode is the new mode, permission bits only. Zero keeps the old one; for Create it means 0666. The umask applies
	// to a created file.
	Mode fs.FileMode
	// Expect is the Hash that the old content must have, or the target of a removed symlink. Empty means any.
	Expect string
	// Old is the content that must be there; comparing it costs less than a hash. Nil means any.
	Old []byte
}

// Hash returns the content hash for Change.Expect: SHA-256 in hex.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Batch makes all changes or none. Everything is checked and written to temporary files first, then put in place
// while all directories are locked; if one change fails, those before are rolled back. Missing parent directories
// are created. The changes are simultaneous: two renames may swap two files, but one path cannot be written twice.
//
// A kill leaves every single file whole, old or new, but may come between two files. Errors are those of WriteFile,
// Remove and Rename, and conflict if an old content is not the expected one.
func (w *Workspace) Batch(ctx context.Context, changes []Change) (err error) {
	if len(changes) == 0 {
		return nil
	}
	view := w.WithContext(ctx)
	var made []string
	defer func() {
		if err != nil {
			view.removeDirs(made)
		}
	}()
	paths, access, err := batchPaths(changes)
	if err != nil {
		return err
	}
	all, err := view.holdAll(paths, access, &made)
	if err != nil {
		return err
	}
	defer all.close()
	b := &batch{w: view, byPath: make(map[string]*batchStep)}
	b.patience.Store(int64(saveTime))
	if err := b.plan(changes, all.places); err != nil {
		return err
	}
	return b.run(ctx)
}

func batchPaths(changes []Change) (paths []string, access []Access, err error) {
	for _, c := range changes {
		switch c.Kind {
		case Create, Replace, Chmod:
			paths, access = append(paths, c.Path), append(access, Write)
		case Delete:
			paths, access = append(paths, c.Path), append(access, Remove)
		case Rename:
			paths, access = append(paths, c.Path, c.To), append(access, Remove, Write)
		default:
			return nil, nil, tool.Errorf(tool.InvalidArgument, "a batch cannot %s %s", c.Kind, c.Path).
				Suggest("Use create, replace, delete, rename or chmod.")
		}
	}
	return paths, access, nil
}

type batch struct {
	w      *Workspace
	steps  []*batchStep
	byPath map[string]*batchStep
	// patience is the remaining time to wait for other programs that are saving.
	patience atomic.Int64
	// kept is how many bytes of old contents have been read.
	kept atomic.Int64
}

// mostKept limits the old contents held in memory until they are recorded, in bytes.
const mostKept = 32 << 20

const (
	// saveTime is how long a batch waits for programs that have a file open for writing; editors are done by then.
	saveTime = time.Second
	// quietTime is how long a file must be unchanged if the system cannot tell who has it open.
	quietTime = 20 * time.Millisecond
)

type batchStep struct {
	*held
	put    bool // the path will have a file
	drop   bool // its old file is removed or renamed
	fresh  bool // must not exist, unless drop is set
	data   []byte
	read   func() ([]byte, error) // returns data; may be nil
	hash   string                 // of data, for the recorder
	like   *held                  // the file whose rights the new one gets; nil for a new one
	mode   fs.FileMode
	itself *inPlaceFile // the file itself, if no other can replace it
	temp   string       // the new content's name until it is in place
	backup string       // the old file's name once it is replaced
	expect string       // the old content's required Hash
	mine   fs.FileInfo  // the new file
	done   bool
}

func (b *batch) plan(changes []Change, helds []*held) error {
	places := make([][]*held, len(changes))
	for i, c := range changes {
		n := 1
		if c.Kind == Rename {
			n = 2
		}
		places[i], helds = helds[:n], helds[n:]
	}
	olds := make([][]byte, len(changes))
	err := atOnce(len(changes), maxAtOnce, func(i int) (err error) {
		c := changes[i]
		olds[i], err = b.old(c, places[i][0])
		return b.w.fail(string(c.Kind), c.Path, err)
	})
	if err != nil {
		return err
	}
	for i, c := range changes {
		if err := b.add(c, places[i], olds[i]); err != nil {
			return b.w.fail(string(c.Kind), c.Path, err)
		}
	}
	for _, s := range b.steps {
		if s.fresh && !s.missing() && !s.drop {
			return exists(s.given)
		}
	}
	return nil
}

func (b *batch) add(c Change, helds []*held, old []byte) error {
	h := helds[0]
	if c.Kind == Create {
		mode := c.Mode
		if mode == 0 {
			mode = newMode
		}
		return b.step(&batchStep{held: h, put: true, fresh: true, data: c.Data, read: c.Read, mode: mode})
	}
	mode := c.Mode
	if mode == 0 {
		mode = h.info.Mode()
	}
	switch c.Kind {
	case Replace:
		return b.step(&batchStep{held: h, put: true, data: c.Data, read: c.Read, mode: mode, like: h,
			expect: c.Expect})
	case Chmod:
		return b.step(&batchStep{held: h, put: true, data: old, mode: mode, like: h})
	case Delete:
		return b.step(&batchStep{held: h, drop: true, expect: c.Expect})
	}
	data := c.Data
	if data == nil {
		data = old
	}
	if err := b.step(&batchStep{held: h, drop: true}); err != nil {
		return err
	}
	return b.step(&batchStep{held: helds[1], put: true, fresh: true, data: data, mode: mode, like: h})
}

// old returns the content that a new file is to have, and an error if c cannot be made.
func (b *batch) old(c Change, h *held) ([]byte, error) {
	if c.Kind == Create {
		return nil, nil
	}
	if c.Kind == Delete && !h.missing() && h.info.Mode()&fs.ModeSymlink != 0 {
		target, err := h.dir.Readlink(h.name)
		if err == nil && c.Expect != "" && Hash([]byte(target)) != c.Expect {
			err = changing(c.Path)
		}
		return nil, err
	}
	if err := h.regular(); err != nil {
		return nil, err
	}
	if c.Kind == Replace && !b.w.restoring { // which replaces a read-only file too
		if err := h.writable(false); err != nil {
			return nil, err
		}
	}
	if c.Expect == "" && c.Old == nil && (c.Kind == Replace || c.Kind == Delete) {
		return nil, nil
	}
	data, err := h.contents()
	if err != nil {
		return nil, err
	}
	if c.Expect != "" && Hash(data) != c.Expect || c.Old != nil && !bytes.Equal(data, c.Old) {
		return nil, changing(c.Path)
	}
	if c.Kind == Chmod || c.Kind == Rename {
		return data, nil
	}
	h.data = c.Old
	if kept := b.kept.Add(int64(len(data))); h.data == nil && kept <= mostKept {
		h.data = data
	}
	return nil, nil
}

// step adds s, or joins it with the step for the same path.
func (b *batch) step(s *batchStep) error {
	other := b.byPath[s.path()]
	if other == nil {
		b.byPath[s.path()] = s
		b.steps = append(b.steps, s)
		return nil
	}
	if s.put == other.put || s.drop == other.drop {
		return tool.Errorf(tool.InvalidArgument, "%s is changed twice in one batch", s.given).
			Suggest("Join the changes of a file into one.").With("path", s.given)
	}
	if s.put {
		other.data, other.read, other.mode, other.like, other.fresh = s.data, s.read, s.mode, s.like, s.fresh
	}
	other.put, other.drop = true, true
	return nil
}
