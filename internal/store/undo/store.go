package undo

import (
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

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

// Options configure a store. Zero values mean the defaults.
type Options struct {
	// MaxBytes bounds the store on disk. Beyond it the oldest content is dropped.
	MaxBytes int64
	// MaxAge is how long a change can be undone.
	MaxAge time.Duration
	// MaxFile bounds, in bytes, the files whose content is kept; changes of larger ones cannot be undone. It is
	// never more than workspace.DefaultReadLimit.
	MaxFile int64
	// BestEffort allows a change, with a warning in the log, if the store cannot be written. Otherwise it is
	// refused. See Optional.
	BestEffort bool
	// Held reports whether a path, named as in Change.Path, decides what runs and must not be changed by
	// processes of tools. It is restored only if Selection.Paths names it. Nil holds nothing.
	Held func(path string) bool
	// CallID makes unique names for an undo, and for a process that serves many calls. Nil makes random names.
	CallID func() string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger gets pruning errors and changes that were not recorded. Nil discards them.
	Logger *slog.Logger
}

// OptionalEnv is the environment variable by which an operator allows, with the value "optional", changes that
// cannot be undone.
const OptionalEnv = "TOOLHOST_UNDO"

// Optional reports whether the operator allows that, for Options.BestEffort.
func Optional() bool { return os.Getenv(OptionalEnv) == "optional" }

// Store keeps what changes replaced. It is safe for concurrent use, also by several processes. Nothing is
// opened before the first use, and only Present keeps anything open.
type Store struct {
	dir     string // "" keeps nothing
	why     error  // why nothing is kept
	options Options
	pending atomic.Int64            // bytes that may be added before the next pruning
	seen    atomic.Pointer[os.File] // the directory as this process first found it
	removed atomic.Bool             // after it was seen
}

// DirName is the name of the store's directory in the workspace's state.
const DirName = "undo"

// Open returns the store in dir, which need not exist and must lie where no tool can write. The error is
// invalid_argument if it is not absolute.
func Open(dir string, options Options) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, tool.Errorf(tool.InvalidArgument, "the undo store needs an absolute directory, not %q", dir).
			Suggest("Give the path of a directory in the user's own state.")
	}
	s := &Store{dir: filepath.Clean(dir), options: options.complete()}
	// Random, so that processes that write little each prune together as often as one that writes much.
	s.pending.Store(rand.Int64N(s.quota()))
	return s, nil
}

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

// None returns a store that keeps nothing, while files may change; why explains that to users.
func None(why error) *Store {
	e := tool.AsError(why)
	return &Store{why: tool.Errorf(tool.Unavailable, "changes cannot be undone here: %w", why).Suggest("%s",
		e.Suggestion), options: Options{}.complete()}
}

// Kept returns why nothing is kept, nil if changes can be undone.
func (s *Store) Kept() error { return s.why }

// Dir returns the absolute path of the store's directory, which may not exist yet; "" if nothing is kept.
func (s *Store) Dir() string { return s.dir }

// Present returns an error if the store is not the one this process has seen before, or cannot be used; nil if
// there is no store yet.
func (s *Store) Present() error {
	if s.why != nil {
		return nil
	}
	err := unix.Access(s.dir+"/.", unix.R_OK|unix.W_OK|unix.X_OK)
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

// isAt reports whether a path still leads to an open file.
func isAt(file *os.File, path string) bool {
	ours, err := file.Stat()
	there, other := os.Stat(path)
	return errors.Join(err, other) == nil && os.SameFile(ours, there)
}

// Close closes what Present has opened.
func (s *Store) Close() {
	if dir := s.seen.Swap(nil); dir != nil {
		dir.Close()
	}
}

// Missing reports whether the store does not exist.
func (s *Store) Missing() bool {
	_, err := os.Stat(s.dir)
	return s.why == nil && errors.Is(err, fs.ErrNotExist)
}

type storeDir struct {
	dir   *os.Root
	small map[string][]byte // objects found in the journal
}

func (v *storeDir) close() { v.dir.Close() }

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

// unchanged ends the sentence about a change that was not made because it could not be recorded.
const unchanged = ", so nothing was changed"

// storeError returns the error for callers if the store fails.
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
