package workspace

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/file/inplace"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/file/rights"
	"github.com/toolhost/toolhost/internal/run/pid"
)

const (
	tempPrefix = ".toolhost-tmp-"
	// tempAge is the age at which another process's temporary file counts as abandoned if no lock can tell.
	tempAge = time.Hour
	// maxSweep limits the entries examined before the first write into a directory; Sweep has no limit.
	maxSweep = 20_000
)

// ownPrefix starts the names of this process's temporary files.
var ownPrefix = tempPrefix + strconv.Itoa(os.Getpid()) + "-"

func tempName() string {
	random := binary.BigEndian.AppendUint64(nil, rand.Uint64())
	return ownPrefix + hex.EncodeToString(random)
}

func tempPid(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return 0, false
	}
	digits, random, ok := strings.Cut(rest, "-")
	if !ok || len(random) != 16 || strings.Trim(random, "0123456789abcdef") != "" {
		return 0, false
	}
	pid, err := strconv.Atoi(digits)
	return pid, err == nil && pid > 0
}

func isTemp(name string) bool {
	_, ok := tempPid(name)
	return ok
}

// stage writes data into a new temporary file beside the place and syncs it. mode is given to a file that replaces
// one with the rights like; if like is nil the umask applies. data is not read if the error is one of unplaced.
func (h *held) stage(data io.Reader, like *rights.Rights, mode fs.FileMode) (string, error) {
	d, err := h.draft(data, like, mode)
	if err != nil {
		return "", err
	}
	if err := h.w.finish(d); err != nil {
		h.dir.Remove(d.name)
		return "", err
	}
	return d.name, nil
}

// draft is a temporary file that is written but not yet synced.
type draft struct {
	name   string
	file   *os.File
	synced bool        // together with others
	info   fs.FileInfo // set by finish
}

// draft writes a temporary file as stage does, without the sync.
func (h *held) draft(data io.Reader, like *rights.Rights, mode fs.FileMode) (*draft, error) {
	first := mode.Perm()
	if like != nil {
		first = like.FirstMode(mode)
	}
	name := tempName()
	f, err := h.openName(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, first)
	if err != nil {
		return nil, inplace.NotBeside(err)
	}
	fill := func() error {
		_, err := io.Copy(f, data)
		return err
	}
	if like != nil {
		err = h.w.give(like, f, mode, fill)
	} else {
		err = fill()
	}
	if err != nil {
		f.Close()
		h.dir.Remove(name)
		return nil, err
	}
	return &draft{name: name, file: f}, nil
}

// finish syncs the draft and closes it. Before, no file's name may lead to it: after a power cut the name could be
// on disk and the content not.
func (c *core) finish(d *draft) error {
	var err error
	if !d.synced {
		err = c.sync(d.file)
	}
	if err == nil {
		d.info, err = d.file.Stat()
	}
	if closeErr := d.file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Sweep removes temporary files that killed processes left in the workspace and the allowed directories, and
// returns their number. Unreadable directories are skipped.
func (w *Workspace) Sweep(ctx context.Context) (removed int, err error) {
	view := w.WithContext(ctx)
	for _, t := range w.trees {
		n, err := view.sweepTree(ctx, t.root, t.abs)
		removed += n
		if err != nil {
			return removed, w.fail("sweep", t.abs, err)
		}
	}
	return removed, nil
}

func (w *Workspace) sweepTree(ctx context.Context, dir *os.Root, abs string) (removed int, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return 0, nil
	}
	items, _ := list(f, 0)
	f.Close()
	found := false
	for _, i := range items {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		if found = found || isTemp(i.name); !i.mode.IsDir() {
			continue
		}
		sub, err := plainfile.In(dir, i.name)
		if err != nil {
			continue
		}
		n, err := w.sweepTree(ctx, sub, filepath.Join(abs, i.name))
		sub.Close()
		removed += n
		if err != nil {
			return removed, err
		}
	}
	if !found {
		return removed, nil
	}
	release, shared, err := w.lockDir(dir, abs)
	if err != nil {
		return removed, err
	}
	defer release()
	n, err := w.sweep(dir, shared, 0)
	return removed + n, err
}

// sweepOnce sweeps the place's directory once per workspace. Its errors do not prevent the write.
func (w *Workspace) sweepOnce(p *resolvedPath, shared bool) {
	if _, done := w.swept.LoadOrStore(p.parent(), true); !done && len(p.rest) == 0 {
		_, _ = w.sweep(p.dir, shared, maxSweep)
	}
}

// sweep removes stale temporary files from dir, whose lock is held. Their writers hold that lock, so with it all
// are stale; without a shared one their process must have ended long ago.
func (w *Workspace) sweep(dir *os.Root, shared bool, limit int) (removed int, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	items, err := list(f, limit)
	for _, i := range items {
		if stale(dir, i.name, shared) && dir.Remove(i.name) == nil {
			removed++
		}
	}
	return removed, err
}

func stale(dir *os.Root, name string, shared bool) bool {
	maker, ok := tempPid(name)
	if !ok {
		return false
	}
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return false // a symlink that was about to be removed has such a name too
	}
	return shared || !pid.Alive(maker) && time.Since(info.ModTime()) > tempAge
}
