package record

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Options configure a record.
type Options struct {
	// Root is the absolute path of a directory that copies never leave, not even through symlinks: the
	// workspace, or the operator's directory.
	Root string
	// Dir is the slash path, below Root, of the sessions' copies; by default ".agent/runs".
	Dir string
	// Single makes Dir the directory of copies itself, for any session.
	Single bool
	// State is the absolute path of the user's state of the workspace. If empty only copies are kept.
	State string
	// Workspace is the path of the recorded workspace.
	Workspace string
	// Copy also writes events.jsonl into the directory of copies.
	Copy bool
	// Keep bounds the record.
	Keep Limits
	// Secrets are values that never reach the record.
	Secrets []string
	// MaxBytes is the size at which an events.jsonl is put aside, replacing the previous one; by default 16
	// MiB.
	MaxBytes int64
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Recorder writes and reads records. It is safe for concurrent use. Nothing is opened before the first use.
type Recorder struct {
	options  Options
	redactor atomic.Pointer[redact.Redactor]
	log      *eventLog // nil if no record is kept
	writer   writer

	mu    sync.Mutex
	runs  map[string]*run
	steps map[string]*os.File
	calls map[callKey]openCall
	begun map[string]bool // sessions whose beginning is recorded
}

// New returns a recorder. The caller must close it.
func New(o Options) (*Recorder, error) {
	if !filepath.IsAbs(o.Root) || o.State != "" && !filepath.IsAbs(o.State) {
		return nil, tool.Errorf(tool.InvalidArgument, "the record needs absolute directories, not %q and %q", o.Root,
			o.State).
			Suggest("Give the absolute paths of the workspace and of its state.")
	}
	if o.Dir == "" {
		o.Dir = ".agent/runs"
	}
	if !fs.ValidPath(o.Dir) {
		return nil, tool.Errorf(tool.InvalidArgument, "%q is not a plain relative path for the record", o.Dir).
			Suggest("Give a slash-separated path below the workspace, without \"..\".")
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 16 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Keep = o.Keep.withDefaults()
	r := &Recorder{options: o, runs: make(map[string]*run), steps: make(map[string]*os.File),
		calls: make(map[callKey]openCall), begun: make(map[string]bool)}
	if o.State != "" {
		r.log = &eventLog{dir: filepath.Join(o.State, "record"), workspace: o.Workspace, limits: o.Keep, now: o.Now}
	}
	r.Redact(nil)
	return r, nil
}

// Bound changes the limits of the record.
func (r *Recorder) Bound(limits Limits) {
	if r.log == nil {
		return
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.log.limits = limits.withDefaults()
}

// Kept returns an error that explains why no record is kept, nil if one is.
func (r *Recorder) Kept() error {
	if r.log == nil {
		return errNoRecord()
	}
	return nil
}

// Redactor returns the recorder's redactor, for logs and results.
func (r *Recorder) Redactor() *redact.Redactor { return r.redactor.Load() }

// Redact adds values that never reach the record.
func (r *Recorder) Redact(values []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.options.Secrets = append(r.options.Secrets[:len(r.options.Secrets):len(r.options.Secrets)], values...)
	r.redactor.Store(redact.WithShapes(r.options.Secrets))
}

// ArtifactDir returns the absolute path of session's directory of copies, for files that calls leave; it need
// not exist. It is empty for an invalid session name.
func (r *Recorder) ArtifactDir(session string) string {
	if ValidSession(session) != nil {
		return ""
	}
	return filepath.Join(r.options.Root, filepath.FromSlash(r.runPath(session)))
}

func (r *Recorder) runPath(session string) string {
	if r.options.Single {
		return r.options.Dir
	}
	return path.Join(r.options.Dir, session)
}

// Begin records, once until [Recorder.End], that a session began. facts is any value that encodes as a JSON
// object.
func (r *Recorder) Begin(session string, facts any) error {
	if err := ValidSession(session); err != nil || r.log == nil {
		return err
	}
	r.mu.Lock()
	known := r.begun[session]
	r.begun[session] = true
	r.mu.Unlock()
	if known {
		return nil
	}
	e := &entry{At: r.options.Now().UTC().Format(timeFormat), Session: session, Event: begunEvent}
	var err error
	if e.Body, err = fields(r.redactor.Load(), e.Event, facts); err != nil {
		return err
	}
	return failure("write an event to", r.log.dir, r.appendEntry(e, "", nil))
}

// End closes the files of session and records its end. A later event opens it again.
func (r *Recorder) End(session string) error {
	r.mu.Lock()
	run, steps := r.runs[session], r.steps[session]
	delete(r.runs, session)
	delete(r.steps, session)
	known := r.begun[session]
	delete(r.begun, session)
	for key := range r.calls {
		if key.session == session {
			known = true
			delete(r.calls, key)
		}
	}
	r.mu.Unlock()
	var errs []error
	if known || steps != nil {
		errs = append(errs, r.Event(context.Background(), session, endedEvent, nil))
	}
	if steps != nil {
		errs = append(errs, steps.Close())
	}
	if run != nil {
		errs = append(errs, run.close())
	}
	return errors.Join(errs...)
}

// Close closes all files.
func (r *Recorder) Close() error {
	r.mu.Lock()
	runs, steps := r.runs, r.steps
	r.runs, r.steps = make(map[string]*run), make(map[string]*os.File)
	r.mu.Unlock()
	var errs []error
	for _, run := range runs {
		errs = append(errs, run.close())
	}
	for _, file := range steps {
		errs = append(errs, file.Close())
	}
	if r.log != nil {
		errs = append(errs, r.writer.end(), r.log.close())
	}
	return errors.Join(errs...)
}

// run returns the open directory of copies of session, making it at the first use.
func (r *Recorder) run(session string) (*run, error) {
	if err := ValidSession(session); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if run := r.runs[session]; run != nil {
		return run, nil
	}
	root, err := r.openRun(session, true)
	if err != nil {
		return nil, failure("make", r.ArtifactDir(session), err)
	}
	run := &run{dir: r.ArtifactDir(session), root: root, max: r.options.MaxBytes, now: r.options.Now}
	r.runs[session] = run
	return run, nil
}

// openRun opens session's directory of copies so that file names cannot lead out of it.
func (r *Recorder) openRun(session string, create bool) (*os.Root, error) {
	root, err := plainfile.Root(r.options.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir := r.runPath(session)
	opened, err := plainfile.Descend(root, dir)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return opened, err
	}
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if !r.options.Single {
		ignoreInGit(root, r.options.Dir, "*\n")
		if r.options.Dir == ".agent/runs" {
			IgnoreInGit(root)
		}
	}
	return plainfile.Descend(root, dir)
}

// agentIgnored are patterns of toolhost's own files in .agent, which also has files of the project such as the
// Taskfile.
const agentIgnored = "/.gitignore\n/cache/\n/runs/\n/tasks/\n/undo/\n"

// IgnoreInGit writes .agent/.gitignore for toolhost's own files unless it exists, and reports whether it does.
// Without .agent, or if it cannot be written, nothing is done.
func IgnoreInGit(workspace *os.Root) bool { return ignoreInGit(workspace, ".agent", agentIgnored) }

// ignoreInGit writes a .gitignore with patterns to dir unless there is one. A failure does not prevent the
// record.
func ignoreInGit(root *os.Root, dir, patterns string) (there bool) {
	file, err := root.OpenFile(path.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return errors.Is(err, fs.ErrExist)
	}
	defer file.Close()
	_, err = file.WriteString(patterns)
	return err == nil
}

// ValidSession refuses a session name that is not a plain file name on every platform: letters, digits, '.',
// '_' and '-', beginning with a letter or digit, at most 100 characters.
func ValidSession(name string) error {
	if name != "" && len(name) <= 100 && !strings.ContainsFunc(name, notInName) && plainFile(name) {
		return nil
	}
	return tool.Errorf(tool.InvalidArgument, "%q is not a valid session name", name).
		Suggest("Use up to 100 letters, digits, '.', '_' and '-'; begin with a letter or digit, do not end with a dot, " +
			"and use no device name of Windows such as con.")
}

func notInName(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
}

// plainFile refuses names that are hidden or special to shared file systems.
func plainFile(name string) bool {
	if strings.ContainsRune("._-", rune(name[0])) || strings.HasSuffix(name, ".") {
		return false
	}
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return false
	}
	device := strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt")
	return !device || len(stem) != 4 || stem[3] < '0' || stem[3] > '9'
}

// failure describes a failed operation on the record in dir.
func failure(doing, dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.PermissionDenied, "cannot %s the record %s: %w", doing, dir, err).
			Suggest("Make the directory writable for this user.")
	}
	return tool.Errorf(tool.Unavailable, "cannot %s the record %s: %w", doing, dir, err).
		Suggest("Check that its file system has space, and that no link leads out of the workspace.")
}
