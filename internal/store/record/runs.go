package record

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// Copies is the result of pruning run directories: files removed, bytes left, and how many files were spared
// only because they had just changed.
type Copies struct {
	Removed, Fresh int
	Left           int64
}

type copied struct {
	path    string // below the directory of run directories
	changed time.Time
	bytes   int64
}

// openRuns opens the directory of run directories, nil if there is none.
func (r *Recorder) openRuns() (*os.Root, error) {
	if r.options.Single {
		return nil, nil
	}
	root, err := plainfile.Root(r.options.Root)
	if err != nil {
		return nil, failure("open", r.options.Root, err)
	}
	defer root.Close()
	runs, err := plainfile.Descend(root, r.options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return runs, failure("open", r.options.Dir, err)
}

// pruneCopies removes the oldest files of the run directories beyond the limits, also of running sessions, but
// none being written to.
func (r *Recorder) pruneCopies(limits Limits) (done Copies, err error) {
	runs, err := r.openRuns()
	if runs == nil {
		return done, err
	}
	defer runs.Close()
	files, err := copies(runs)
	if err != nil {
		return done, failure("list", r.options.Dir, err)
	}
	for _, file := range files {
		done.Left += file.bytes
	}
	now := r.options.Now()
	var errs []error
	for _, file := range files {
		age := now.Sub(file.changed)
		switch {
		case age <= limits.Age && done.Left <= limits.Bytes:
		case age < limits.Quiet || r.writes(file.path):
			done.Fresh++
		default:
			if err := runs.Remove(file.path); err != nil {
				errs = append(errs, err)
				continue
			}
			done.Removed++
			done.Left -= file.bytes
			for dir := path.Dir(file.path); dir != "." && runs.Remove(dir) == nil; dir = path.Dir(dir) {
			} // empty directories too
		}
	}
	return done, failure("remove", r.options.Dir, errors.Join(errs...))
}

// copies returns the files of the run directories, least recently changed first, without those that vanish
// meanwhile.
func copies(runs *os.Root) (files []copied, err error) {
	entries, err := fs.ReadDir(runs.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.IsDir() || ValidSession(entry.Name()) != nil {
			continue
		}
		_ = fs.WalkDir(runs.FS(), entry.Name(), func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				files = append(files, copied{name, info.ModTime(), info.Size()})
			}
			return nil
		})
	}
	slices.SortStableFunc(files, func(a, b copied) int { return a.changed.Compare(b.changed) })
	return files, nil
}

// writes reports whether a file is the event copy of an open session.
func (r *Recorder) writes(name string) bool {
	dir, file := path.Split(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	return file == eventsFile && r.runs[path.Clean(dir)] != nil
}
