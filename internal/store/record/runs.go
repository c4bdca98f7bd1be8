package record

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// Run is a directory of copies as it lies there.
type Run struct {
	// Session is the session's name.
	Session string
	// Changed is when a file of it was last written.
	Changed time.Time
	// Bytes is the size of all its files.
	Bytes int64
}

// Runs lists the run directories, the least recently changed first. There is
// none before the first event, and never one with [Options.Single].
func (r *Recorder) Runs() ([]Run, error) {
	root, err := r.openRuns()
	if root == nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, failure("list", r.options.Root, err)
	}
	runs := []Run{}
	for _, entry := range entries {
		if entry.IsDir() && ValidSession(entry.Name()) == nil {
			runs = append(runs, measure(root, entry.Name()))
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Changed.Compare(b.Changed) })
	return runs, nil
}

// openRuns opens the directory of run directories, nil where there is none.
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

// measure adds up a run. Files that vanish meanwhile count nothing.
func measure(root *os.Root, session string) Run {
	run := Run{Session: session}
	fs.WalkDir(root.FS(), session, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if info.Mode().IsRegular() {
			run.Bytes += info.Size()
		}
		if info.ModTime().After(run.Changed) {
			run.Changed = info.ModTime()
		}
		return nil
	})
	return run
}

// pruneRuns removes old runs of copies and names their sessions.
func (r *Recorder) pruneRuns(limits Limits) (removed []string, err error) {
	runs, err := r.Runs()
	if err != nil {
		return nil, err
	}
	var total int64
	for _, run := range runs {
		total += run.Bytes
	}
	now := r.options.Now()
	var errs []error
	for _, run := range runs {
		idle := now.Sub(run.Changed)
		if idle <= limits.Age && total <= limits.Bytes || idle < limits.Quiet || r.isOpen(run.Session) {
			continue
		}
		if err := r.remove(run.Session); err != nil {
			errs = append(errs, err)
			continue
		}
		total -= run.Bytes
		removed = append(removed, run.Session)
	}
	return removed, errors.Join(errs...)
}

func (r *Recorder) isOpen(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[session] != nil
}

func (r *Recorder) remove(session string) error {
	runs, err := r.openRuns()
	if runs == nil {
		return err
	}
	defer runs.Close()
	return failure("remove", session, runs.RemoveAll(session))
}
