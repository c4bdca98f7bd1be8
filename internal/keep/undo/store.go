package undo

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/plainfile"
	"github.com/toolhost/toolhost/internal/files/workspace"
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
	// Compress packs contents of 8 KiB and more, which takes less room and
	// makes changes of such files markedly slower.
	Compress bool
	// Durable syncs what is kept to the disk before the change happens.
	Durable bool
	// BestEffort lets a change happen, with a warning in the log, when the old
	// content cannot be kept because the store cannot be written. Otherwise
	// the change is refused. See Optional.
	BestEffort bool
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
// made or opened before the first use, and nothing stays open.
type Store struct {
	root     string
	options  Options
	pending  atomic.Int64 // bytes that may be added before the next pruning
	deflates sync.Pool
}

// Open gives the store of the workspace with that root directory. The error is
// of code invalid_argument when root is not absolute.
func Open(root string, options Options) (*Store, error) {
	if !filepath.IsAbs(root) {
		return nil, tool.Errorf(tool.InvalidArgument, "the undo store needs an absolute directory, not %q", root).
			Suggest("Give the workspace's absolute path.")
	}
	if options.MaxBytes <= 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	if options.MaxAge <= 0 {
		options.MaxAge = DefaultMaxAge
	}
	if options.MaxFile <= 0 {
		options.MaxFile = DefaultMaxFile
	}
	options.MaxFile = min(options.MaxFile, workspace.DefaultReadLimit, options.MaxBytes)
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{root: root, options: options}
	s.pending.Store(s.firstAllowance())
	return s, nil
}

// Dir is the absolute path of the store's directory, which may not exist yet.
func (s *Store) Dir() string { return filepath.Join(s.root, ".agent", "undo") }

// vault is the store's directory, opened.
type vault struct {
	dir   *os.Root
	held  []*os.Root
	small map[string][]byte // objects found in the journal
}

func (v *vault) close() {
	for _, r := range v.held {
		r.Close()
	}
}

// open opens the store's directory, without following symlinks below the
// workspace's root.
func (s *Store) open(create bool) (*vault, error) {
	root, err := plainfile.Root(s.root)
	if err != nil {
		return nil, err
	}
	v := &vault{dir: root, held: []*os.Root{root}, small: make(map[string][]byte)}
	for _, d := range []struct {
		name string
		mode os.FileMode
	}{{".agent", 0o755}, {"undo", 0o700}} {
		next, err := enter(v.dir, d.name, create, d.mode)
		if err != nil {
			v.close()
			return nil, err
		}
		v.dir, v.held = next, append(v.held, next)
	}
	return v, nil
}

// storeError is what a caller sees when the store fails.
func (s *Store) storeError(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e := tool.AsError(err); e.Code != tool.Internal {
		return err
	}
	return tool.Errorf(tool.Unavailable, "cannot %s in %s, so nothing was changed: %w", doing, s.Dir(), err).
		Suggest("Free space if the disk is full, and look at that directory: it has to be a plain directory with plain files that toolhost may write. It can be removed, and all undo history with it. Or set %s=optional for toolhost: then files change though it cannot be undone.", OptionalEnv)
}
