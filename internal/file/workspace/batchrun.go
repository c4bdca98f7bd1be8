package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/file/inplace"
	"github.com/toolhost/toolhost/internal/file/rights"
)

const (
	// maxAtOnce limits the files examined, written or put in place concurrently.
	maxAtOnce = 4
	// maxDrafts and leastDrafts limit the new files of a batch open at a time.
	maxDrafts, leastDrafts = 1000, 16
	// maxSyncs limits concurrent syncs: a disk can serve many in one go.
	maxSyncs = 32
	// manyDrafts is the number of drafts from which one sync for all is tried.
	manyDrafts = 16
)

func (b *batch) run(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			b.rollBack()
		}
		b.tidy()
	}()
	for some := range slices.Chunk(b.steps, b.w.drafts) {
		if err := b.prepare(ctx, some); err != nil {
			return err
		}
	}
	if err := b.w.recordAll(b.steps); err != nil {
		return err
	}
	// New files are put in place before others are removed, so that a kill leaves a file
	// twice rather than not at all.
	for _, put := range []bool{true, false} {
		err := atOnce(len(b.steps), maxAtOnce, func(i int) error {
			s := b.steps[i]
			if s.put != put {
				return nil
			}
			return b.w.fail("write", s.given, s.apply(&b.patience))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// draftsAtOnce returns how many new files of a batch may be open: the more, the fewer waits for the
// disk.
func draftsAtOnce() int { return max(leastDrafts, min(maxDrafts, mostOpen()/4)) }

// prepare writes the new contents to temporary files, synced to disk.
func (b *batch) prepare(ctx context.Context, steps []*batchStep) error {
	drafts := make([]*draft, len(steps))
	err := atOnce(len(steps), maxAtOnce, func(i int) (err error) {
		if err = ctx.Err(); err == nil {
			drafts[i], err = steps[i].draft()
		}
		return b.w.fail("write", steps[i].given, err)
	})
	limit := maxSyncs
	if b.w.syncMany(slices.DeleteFunc(slices.Clone(drafts), func(d *draft) bool { return d == nil })) {
		limit = maxAtOnce
	}
	errs := make([]error, len(steps))
	_ = atOnce(len(steps), limit, func(i int) error { // all are closed, even after an error
		if d := drafts[i]; d != nil {
			errs[i] = b.w.fail("write", steps[i].given, b.w.finish(d))
			steps[i].mine = d.info
		}
		return nil
	})
	return cmp.Or(err, cmp.Or(errs...))
}

// syncMany syncs many drafts in one go if that is faster, and reports whether it did. They must still be
// finished.
func (c *core) syncMany(drafts []*draft) bool {
	if len(drafts) < manyDrafts {
		return false
	}
	files := make([]*os.File, len(drafts))
	for i, d := range drafts {
		files[i] = d.file
	}
	if c.syncTogether(files) != nil {
		return false
	}
	for _, d := range drafts {
		d.synced = true
	}
	return true
}

// atOnce calls do with 0 to n-1 in up to limit goroutines until one fails, and returns the error of the lowest
// number.
func atOnce(n, limit int, do func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	some := func() {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = do(i); errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	var others sync.WaitGroup
	for range min(n, limit) - 1 {
		others.Go(some)
	}
	some()
	others.Wait()
	return cmp.Or(errs...)
}

// after returns the state that the step leaves; the umask applies to a new file's mode.
func (s *batchStep) after() after {
	switch {
	case !s.put:
		return after{}
	case s.like == nil:
		return after{hash: s.hash}
	}
	return after{hash: s.hash, mode: s.mode.Perm()}
}

func (s *batchStep) kind() Kind {
	switch {
	case !s.put:
		return Delete
	case s.missing():
		return Create
	default:
		return Replace
	}
}

func (s *batchStep) draft() (*draft, error) {
	if len(s.rest) > 0 {
		return nil, missingParent(s.resolvedPath)
	}
	if !s.put {
		return nil, nil
	}
	if s.read != nil {
		var err error
		if s.data, err = s.read(); err != nil {
			return nil, err
		}
	}
	var like *rights.Rights
	var err error
	if s.like != nil {
		if like, err = s.like.likeOld(); err != nil {
			return nil, err
		}
	}
	d, err := s.held.draft(bytes.NewReader(s.data), like, s.mode)
	if why := unplaced(err); why != nil {
		s.hash = s.w.hash(s.data)
		return nil, s.standFor(why)
	}
	if err != nil {
		return nil, s.explainLost(err)
	}
	s.temp, s.hash, s.data = d.name, s.w.hash(s.data), nil
	startWriting(d.file) // while the others are written
	return d, nil
}

// apply puts the step in place unless another program changed the file first.
func (s *batchStep) apply(patience *atomic.Int64) error {
	if s.missing() {
		err := renameAt(s.beside(s.temp), s.resolvedPath, false)
		if errors.Is(err, fs.ErrExist) {
			return exists(s.given)
		}
		return s.applied(err, "")
	}
	now, err := s.dir.Lstat(s.name)
	if err != nil || !sameContent(now, s.info) {
		return changing(s.given)
	}
	if s.put {
		return s.swap(patience)
	}
	backup := tempName()
	if err := s.applied(renameAt(s.resolvedPath, s.beside(backup), true), backup); err != nil {
		return err
	}
	return s.unraced(patience)
}

// applied records the outcome of a step. If err is nil, the old file is now called backup.
func (s *batchStep) applied(err error, backup string) error {
	if err == nil {
		s.done, s.temp, s.backup = true, "", backup
	}
	return err
}

// unraced fails if the replaced file is not the one examined: another program may have saved it at the last
// moment. It waits for a program that has the file open, since that writes into the replaced one.
func (s *batchStep) unraced(patience *atomic.Int64) error {
	was, expected, err := s.displaced(patience)
	if err != nil || !expected || !sameContent(was, s.info) {
		return changing(s.given)
	}
	return nil
}

// displaced stats the replaced file once its writers are done. expected is false if its content is not what the
// caller expects: a write of the same length within a clock tick shows nowhere else.
func (s *batchStep) displaced(patience *atomic.Int64) (was fs.FileInfo, expected bool, err error) {
	if !s.info.Mode().IsRegular() {
		was, err = s.dir.Lstat(s.backup)
		return was, true, err
	}
	f, err := s.openName(s.backup, openFlags, 0)
	if err != nil { // may be writable but not readable
		was, err = s.dir.Lstat(s.backup)
		return was, s.expect == "", err
	}
	defer f.Close()
	began := time.Now()
	awaitWriters(f, time.Duration(patience.Load()))
	patience.Add(-int64(time.Since(began)))
	if was, err = f.Stat(); err != nil || s.expect == "" || !was.Mode().IsRegular() {
		return was, s.expect == "", err
	}
	sum := sha256.New()
	_, err = io.CopyBuffer(sum, struct{ io.Reader }{f}, make([]byte, min(was.Size()+1, 32<<10)))
	return was, hex.EncodeToString(sum.Sum(nil)) == s.expect, err
}

// awaitWriters waits, at most the given time, until no program has the file open for writing. Where the system
// cannot tell, the file must have been unchanged for a while.
func awaitWriters(f *os.File, atMost time.Duration) {
	for end := time.Now().Add(atMost); time.Now().Before(end); time.Sleep(time.Millisecond) {
		writing, known := beingWritten(f)
		if !known {
			info, err := f.Stat()
			writing = err == nil && time.Since(info.ModTime()).Abs() < quietTime
		}
		if !writing {
			return
		}
	}
}

// swap exchanges the old and new file. Where the system cannot, the old one gets a second name first.
func (s *batchStep) swap(patience *atomic.Int64) error {
	if s.itself != nil {
		return s.inPlace(s.data)
	}
	err := s.w.exchange(s.resolvedPath, s.temp)
	if err == nil {
		_ = s.applied(nil, s.temp)
		return s.unraced(patience)
	}
	if !errors.Is(err, syscall.EBUSY) {
		if err = s.makeBackup(); err == nil {
			err = s.w.rename(s.dir, s.temp, s.name)
		}
	}
	if why := unplaced(inplace.NotOver(err)); why != nil {
		return s.finishInPlace(why)
	}
	return s.applied(err, s.backup)
}

// finishInPlace writes in place if no temporary file can replace the file.
func (s *batchStep) finishInPlace(why *inplace.Fixed) error {
	if s.backup != "" {
		_ = s.dir.Remove(s.backup)
		s.backup = ""
	}
	if err := s.standFor(why); err != nil {
		return err
	}
	data, err := s.takeTemp(s.temp)
	if err != nil {
		return err
	}
	return s.inPlace(data)
}

// standFor opens the file itself. A renamed file is not written in place: that would combine one file's
// content with the other's rights.
func (s *batchStep) standFor(why *inplace.Fixed) (err error) {
	if s.drop {
		return s.fixed(why, "another cannot be moved there", "Nothing was changed. Change the content instead.")
	}
	s.itself, err = s.openInPlace(why, s.held.data)
	return err
}

// inPlace writes into the file itself, and fails if it is not the one that was examined.
func (s *batchStep) inPlace(data []byte) error {
	if s.expect != "" && Hash(s.itself.old) != s.expect {
		return changing(s.given)
	}
	err := s.itself.write(data, s.mode)
	s.done = err == nil
	return err
}

// makeBackup gives the old file a second name, or copies it if there are no hard links.
func (s *batchStep) makeBackup() error {
	name := tempName()
	if s.dir.Link(s.name, name) == nil {
		s.backup = name
		return nil
	}
	f, info, err := s.openFile()
	if errors.Is(err, errRaced) {
		return changing(s.given)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	like, err := rights.Of(f, info)
	if err == nil {
		s.backup, err = s.stage(io.Reader(f), like, info.Mode())
	}
	if why := unplaced(err); why != nil {
		return why // without a second name it cannot be replaced
	}
	return s.explainLost(err)
}

// rollBack reverts the applied steps, the last first. It keeps what another program has written
// since.
func (b *batch) rollBack() {
	for _, s := range slices.Backward(b.steps) {
		switch {
		case !s.done:
		case s.itself != nil:
			s.itself.writeBack()
		case s.backup != "" && s.put:
			s.swapBack()
		case s.backup != "":
			if renameAt(s.beside(s.backup), s.resolvedPath, false) == nil {
				s.backup = ""
			}
		default:
			_ = s.dir.Remove(s.name)
		}
	}
}

func (s *batchStep) swapBack() {
	if s.w.exchange(s.resolvedPath, s.backup) != nil {
		if s.dir.Rename(s.backup, s.name) == nil {
			s.backup = ""
		}
		return
	}
	if now, err := s.dir.Lstat(s.backup); err == nil && !sameContent(now, s.mine) {
		_ = s.w.exchange(s.resolvedPath, s.backup)
	}
}

// tidy removes temporary files. Some file systems wait for the disk when they free the blocks.
func (b *batch) tidy() {
	_ = atOnce(len(b.steps), maxSyncs, func(i int) error {
		s := b.steps[i]
		for _, name := range []string{s.temp, s.backup} {
			if name != "" {
				_ = s.dir.Remove(name)
			}
		}
		return nil
	})
}
