package taskfile

import (
	"context"
	"embed"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/taskincludes"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
	"github.com/toolhost/toolhost/internal/source/toolspec"
)

// Defaults of Options.
const (
	DefaultPath    = taskincludes.DefaultPath
	DefaultTimeout = 5 * time.Minute
)

// describeTimeout bounds a listing, which runs nothing.
const describeTimeout = 30 * time.Second

// Options configures the tools. The zero value means the defaults.
type Options struct {
	// Path is the Taskfile, relative to the workspace. Empty means DefaultPath.
	Path string
	// Timeout bounds one run. Zero means DefaultTimeout.
	Timeout time.Duration
	// Binary returns the absolute path of toolhost-task. Nil searches beside the running program, then
	// on PATH outside the workspace.
	Binary func() (string, error)
	// Prepare may change the child process before it starts, to confine it. It returns metadata for the result.
	// May be nil.
	Prepare func(*exec.Cmd) (metadata map[string]any, err error)
	// Denied explains from a child's output how confinement may have caused a failure. May be nil.
	Denied func(printed string) string
	// OutputCap bounds the shown bytes of each stream. Zero means proc.DefaultCap.
	OutputCap int
	// Env names further environment variables for the commands; a trailing * matches the rest.
	Env []string
	// CacheDir stores listings. Empty stores none.
	CacheDir string
}

// Taskfile is the Taskfile of one workspace.
type Taskfile struct {
	ws      *workspace.Workspace
	options Options
	listing listingCache
}

// New returns the Taskfile of ws. It reads and starts nothing.
func New(ws *workspace.Workspace, o Options) *Taskfile {
	if o.Path == "" {
		o.Path = DefaultPath
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Binary == nil {
		o.Binary = func() (string, error) { return FindBinary(ws.Root()) }
	}
	return &Taskfile{ws: ws, options: o}
}

// Tools returns list_commands, run_command and task.
func (t *Taskfile) Tools() []tool.Tool {
	return []tool.Tool{&listCommands{t}, &runCommand{t}, &taskTool{t}}
}

// Watched returns the sorted absolute paths that the listing depends on: the Taskfile, its includes,
// dotenv files, and missing optional ones; before the first listing only the Taskfile.
func (t *Taskfile) Watched(context.Context) []string {
	if files := t.listing.files(); len(files) > 0 {
		return files
	}
	path, err := t.path()
	if err != nil {
		return nil
	}
	return []string{path}
}

func (t *Taskfile) path() (string, error) { return t.ws.Check(t.options.Path, workspace.Read) }

func (t *Taskfile) command(args ...string) (proc.Command, error) {
	binary, err := t.options.Binary()
	if err != nil {
		return proc.Command{}, err
	}
	path, err := t.path()
	if err != nil {
		return proc.Command{}, err
	}
	root := t.ws.Root()
	argv := append([]string{binary, "--dir", root, "--taskfile", path}, args...)
	env := proc.Environ(map[string]string{"PWD": root}, t.options.Env...)
	if !slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, protocol.Collection+"=") }) {
		env = append(env, protocol.Collection+"="+protocol.CollectLate)
	}
	return proc.Command{
		Argv:    argv,
		Dir:     root,
		Env:     env,
		Prepare: t.prepare(nil),
	}, nil
}

// prepare adapts Prepare to package proc. Its metadata is stored in about, unless nil.
func (t *Taskfile) prepare(about *map[string]any) func(*exec.Cmd) error {
	if t.options.Prepare == nil {
		return nil
	}
	return func(cmd *exec.Cmd) error {
		said, err := t.options.Prepare(cmd)
		if about != nil {
			*about = said
		}
		return err
	}
}

// shown returns a path for results: relative if inside the workspace.
func (t *Taskfile) shown(path string) string {
	rel, err := filepath.Rel(t.ws.Root(), path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.ToSlash(rel)
}

// elsewhere returns a Taskfile where Task itself looks for one, or "".
func (t *Taskfile) elsewhere() string {
	for _, name := range []string{"Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"} {
		if info, err := t.ws.Lstat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

//go:embed tools
var definitionFiles embed.FS

var definitions = sync.OnceValue(func() map[string]*tool.Definition { return toolspec.Read(definitionFiles, nil) })

func (t *Taskfile) definition(name string, timeout time.Duration) *tool.Definition {
	d := *definitions()[name]
	d.Timeout = timeout
	d.Description = strings.NewReplacer("$path", t.options.Path, "$timeout", t.options.Timeout.String()).
		Replace(d.Description)
	return &d
}
