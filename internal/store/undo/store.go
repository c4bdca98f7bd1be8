package undo

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/callid"
)

// Defaults of Options.
const (
	DefaultMaxBytes = 200 << 20
	DefaultMaxAge   = 14 * 24 * time.Hour
	DefaultMaxFile  = 32 << 20
)

// Options shape a store. Zero values mean the defaults.
type Options struct {
	// MaxBytes bounds what the store takes on the disk. The oldest content is
	// dropped beyond it.
	MaxBytes int64
	// MaxAge is how long a change can be undone.
	MaxAge time.Duration
	// MaxFile is the size in bytes of the largest file whose content is kept.
	// Larger ones can be changed and the change cannot be undone. No more than
	// workspace.DefaultReadLimit is ever kept.
	MaxFile int64
	// BestEffort lets a change happen, with a warning in the log, when the old
	// content cannot be kept because the store cannot be written. Otherwise
	// the change is refused. See Optional.
	BestEffort bool
	// Held reports whether a path, as Change.Path names it, is one that decides
	// what runs, and that no process of a tool may change now. What it held comes
	// back only where Selection.Paths names it. Nil holds nothing.
	Held func(path string) bool
	// CallID names an undo, and a process that serves many calls, as no other call of the workspace is named. Nil
	// makes random names.
	CallID func() string
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
	// Logger is told about pruning that failed and changes that were not
	// recorded. Nil discards.
	Logger *slog.Logger
}

// OptionalEnv is the environment variable by which an operator says, with the
// value "optional", that files may change though the change cannot be undone.
const OptionalEnv = "TOOLHOST_UNDO"

// Optional reports whether the operator said so, for Options.BestEffort.
func Optional() bool { return os.Getenv(OptionalEnv) == "optional" }

// Store keeps what changes replaced. Its methods may be called from any
// goroutine, and any number of processes may use the same store. Nothing is
// made or opened before the first use, and nothing stays open but what Present
// has opened.
type Store struct {
	dir     string // "" keeps nothing
	why     error  // that nothing is kept
	options Options
	pending atomic.Int64            // bytes that may be added before the next pruning
	seen    atomic.Pointer[os.File] // the directory as this process found it
	removed atomic.Bool             // after it was seen
}

// DirName is the name of the store's directory among what the host keeps of a
// workspace.
const DirName = "undo"

// Open gives the store in that directory, which need not exist and must lie
// where no tool can write. The error is of code invalid_argument when it is not
// absolute.
func Open(dir string, options Options) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, tool.Errorf(tool.InvalidArgument, "the undo store needs an absolute directory, not %q", dir).
			Suggest("Give the path of a directory in the user's own state.")
	}
	s := &Store{dir: filepath.Clean(dir), options: options.complete()}
	s.pending.Store(s.firstAllowance())
	return s, nil
}

// complete gives the options with the defaults for those that are not set.
func (o Options) complete() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxAge <= 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.MaxFile <= 0 {
		o.MaxFile = DefaultMaxFile
	}
	o.MaxFile = min(o.MaxFile, workspace.DefaultReadLimit, o.MaxBytes)
	if o.CallID == nil {
		o.CallID = callid.In("").Next
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// None is a store for where there is no place for one: files may change, nothing
// is kept, and why says so to those who ask for it.
func None(why error) *Store {
	e := tool.AsError(why)
	return &Store{why: tool.Errorf(tool.Unavailable, "changes cannot be undone here: %w", why).Suggest("%s",
		e.Suggestion), options: Options{}.complete()}
}

// Kept says why nothing is kept, nil where changes can be undone.
func (s *Store) Kept() error { return s.why }

// Dir is the absolute path of the store's directory, which may not exist yet;
// "" where nothing is kept.
func (s *Store) Dir() string { return s.dir }

// Present says why the store is not what this process has seen before, or that it cannot be used. It is nil where
// there is none yet.
func (s *Store) Present() error {
	if s.why != nil {
		return nil
	}
	err := usable(s.dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil && s.seen.Load() == nil {
		var dir *os.File
		if dir, err = os.Open(s.dir); err == nil && !s.seen.CompareAndSwap(nil, dir) {
			dir.Close()
		}
	}
	if seen := s.seen.Load(); seen != nil && !isAt(seen, s.dir) {
		s.removed.Store(true)
	}
	switch {
	case s.removed.Load():
		return tool.Errorf(tool.Unavailable, "%s, with what undo would bring back, was removed or replaced while it was "+
			"in use", s.dir).Suggest("Start toolhost again to begin a new one.")
	case missing:
		return nil
	}
	return s.storeError("keep what changes", "", err)
}

// isAt reports that a path still leads to an open file.
func isAt(file *os.File, path string) bool {
	ours, err := file.Stat()
	there, other := os.Stat(path)
	return errors.Join(err, other) == nil && os.SameFile(ours, there)
}

// Close gives back what Present has open.
func (s *Store) Close() {
	if dir := s.seen.Swap(nil); dir != nil {
		dir.Close()
	}
}

// Missing reports that the store does not exist.
func (s *Store) Missing() bool {
	_, err := os.Stat(s.dir)
	return s.why == nil && errors.Is(err, fs.ErrNotExist)
}

// storeDir is the store's directory, opened.
type storeDir struct {
	dir   *os.Root
	small map[string][]byte // objects found in the journal
}

func (v *storeDir) close() { v.dir.Close() }

// open opens the store's directory.
func (s *Store) open(create bool) (*storeDir, error) {
	if s.why != nil {
		return nil, s.why
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, err
		}
		root, err = os.OpenRoot(s.dir)
	}
	if err != nil {
		return nil, err
	}
	return &storeDir{dir: root, small: make(map[string][]byte)}, nil
}

// unchanged ends the sentence about a change that was not made, as it could not be kept.
const unchanged = ", so nothing was changed"

// storeError is what a caller sees when the store fails.
func (s *Store) storeError(doing, so string, err error) error {
	if err == nil {
		return nil
	}
	if e := tool.AsError(err); e.Code != tool.Internal {
		return err
	}
	return tool.Errorf(tool.Unavailable, "cannot %s in %s%s: %w", doing, s.Dir(), so, err).
		Suggest("Free space if the disk is full, and look at that directory: it has to be one that toolhost may "+
			"write to. It can be removed, and all undo history with it. Or set %s=optional for toolhost: "+
			"then files change though it cannot be undone.", OptionalEnv)
}
