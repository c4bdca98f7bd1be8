package taskfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testbuild"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/taskfile"
)

// programs is the directory of the programs that tests build.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "taskfile-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(programs)
	os.Exit(code)
}

// child and task return the paths of the child program and of the real task, both built from this
// module, which requires go-task, when a test first wants them.
var (
	child = sync.OnceValues(func() (string, error) {
		return filepath.Join(programs, taskfile.BinaryName), testbuild.Programs(programs, []string{taskfile.BinaryName})
	})
	task = sync.OnceValues(func() (string, error) {
		path := filepath.Join(programs, "task")
		out, err := exec.Command("go", "build", "-o", path, "github.com/go-task/task/v3/cmd/task").CombinedOutput()
		if err != nil {
			err = errors.New(string(out))
		}
		return path, err
	})
)

type project struct {
	t       *testing.T
	dir     string
	ws      *workspace.Workspace
	options taskfile.Options
	tasks   *taskfile.Taskfile
	tools   map[string]tool.Tool
}

// newProject makes a workspace from a directory of testdata, "" for an empty one.
func newProject(t *testing.T, from string, change ...func(*taskfile.Options)) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	if from != "" {
		require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", from))))
	}
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	o := taskfile.Options{Binary: child}
	for _, c := range change {
		c(&o)
	}
	return (&project{t: t, dir: dir, ws: ws, options: o}).restarted()
}

// restarted returns the same project as in a new process.
func (p *project) restarted() *project {
	again := &project{p.t, p.dir, p.ws, p.options, taskfile.New(p.ws, p.options), map[string]tool.Tool{}}
	for _, tl := range again.tasks.Tools() {
		again.tools[tl.Definition().Name] = tl
	}
	return again
}

func (p *project) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	testfile.Write(p.t, path, content)
}

func (p *project) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

func (p *project) call(ctx context.Context, name string, params any) (*tool.Result, error) {
	p.t.Helper()
	return p.tools[name].Call(ctx, &tool.Call{
		Tool: name, Step: 1, Params: tool.MustMarshal(params), Workspace: p.dir,
		ArtifactDir: filepath.Join(p.dir, ".artifacts"),
	})
}

type command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type listing struct {
	Commands []command `json:"commands"`
	Message  string    `json:"message"`
}

func (l listing) names() []string {
	names := []string{}
	for _, c := range l.Commands {
		names = append(names, c.Name)
	}
	return names
}

func (p *project) list() listing {
	p.t.Helper()
	result, err := p.call(p.t.Context(), "list_commands", map[string]any{})
	require.NoError(p.t, err)
	require.JSONEq(p.t, string(result.Structured), result.Text())
	var l listing
	require.NoError(p.t, json.Unmarshal(result.Structured, &l))
	return l
}

type run struct {
	Command    string `json:"command"`
	ExitCode   int    `json:"exit_code"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	DurationMS *int64 `json:"duration_ms"`
}

// run calls run_command, which must run something.
func (p *project) run(name, args string) (run, *tool.Result) {
	p.t.Helper()
	result, err := p.call(p.t.Context(), "run_command", map[string]any{"command": name, "args": args})
	require.NoError(p.t, err)
	var r run
	require.NoError(p.t, json.Unmarshal(result.Structured, &r))
	require.NotNil(p.t, r.DurationMS)
	require.Equal(p.t, name, r.Command)
	return r, result
}

// fails calls a tool that must fail without a result.
func (p *project) fails(name string, params any) *tool.Error {
	p.t.Helper()
	_, err := p.call(p.t.Context(), name, params)
	var e *tool.Error
	require.ErrorAs(p.t, err, &e)
	require.NotEmpty(p.t, e.Suggestion)
	return e
}

// real runs the real task in the workspace, in the same environment.
func (p *project) real(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	program, err := task()
	require.NoError(p.t, err)
	cmd := exec.Command(program,
		append([]string{"--dir", ".", "--taskfile", ".agent/Taskfile.yml"}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "PWD="+p.dir)
	var out, errs outBuffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		testneed.Missing(p.t, "the real task does not run: "+err.Error())
	}
	return string(out), string(errs), cmd.ProcessState.ExitCode()
}

type outBuffer []byte

func (b *outBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
