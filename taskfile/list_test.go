package taskfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/taskfile"
)

// realList returns what the real task lists, in the Taskfile's order.
func (p *project) realList() []command {
	p.t.Helper()
	stdout, stderr, code := p.real("--list", "--json", "--no-status", "--sort", "none")
	require.Zero(p.t, code, stderr)
	var out struct {
		Tasks []struct {
			Task string `json:"task"`
			Desc string `json:"desc"`
		} `json:"tasks"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(stdout), &out))
	commands := []command{}
	for _, t := range out.Tasks {
		commands = append(commands, command{t.Task, t.Desc})
	}
	return commands
}

func TestListEqualsTask(t *testing.T) {
	testneed.NotShort(t, "compares many files with task itself")
	for _, name := range []string{"plain", "odd"} {
		p := newProject(t, name)
		got := p.list()
		want := p.realList()
		if name == "plain" {
			// task computes the description's variable only if there are dotenv files, and then by
			// running its command.
			for i := range want {
				want[i].Description = strings.Replace(want[i].Description, "static dynamic dotenv", "static  dotenv", 1)
			}
		}
		assert.Equal(t, want, got.Commands, name)
	}
}

// With several includes task's own order varies; ours is the files' order.
func TestListWithIncludes(t *testing.T) {
	p := newProject(t, "includes")
	got := p.list()
	assert.Equal(t, []string{
		"own", "another",
		"zeta:second", "zeta:first",
		"docs:serve", "docs:default", "docs:deep:down", "docs:deep:up",
		"flat-one",
	}, got.names())
	assert.Equal(t, "Successfully listed 9 development commands from .agent/Taskfile.yml.", got.Message)
	testneed.NotShort(t, "builds task itself")
	assert.ElementsMatch(t, p.realList(), got.Commands)
}

func TestListRunsNothing(t *testing.T) {
	p := newProject(t, "plain")
	p.list()
	assert.False(t, p.exists("executed"), "a variable of the Taskfile was computed")
	assert.False(t, p.exists(".task"))
}

func TestNoTaskfile(t *testing.T) {
	p := newProject(t, "")
	got := p.list()
	assert.Equal(t, []command{}, got.Commands)
	assert.Contains(t, got.Message, ".agent/Taskfile.yml")
	assert.Equal(t, []string{filepath.Join(p.dir, ".agent", "Taskfile.yml")}, p.tasks.Watched(t.Context()))
	e := p.fails("run_command", map[string]any{"command": "build"})
	assert.Equal(t, tool.NotFound, e.Code)
	assert.Contains(t, e.Message, "command 'build' not found")
}

// A Taskfile of the directory, or of one above it, is not used instead.
func TestOtherTaskfilesAreNotTaken(t *testing.T) {
	p := newProject(t, "")
	p.write("Taskfile.yml", "version: '3'\ntasks: {evil: {desc: e, cmds: [touch pwned]}}\n")
	assert.Empty(t, p.list().Commands)
	p.fails("run_command", map[string]any{"command": "evil"})
	p.fails("task", map[string]any{"args": "evil"})
	assert.False(t, p.exists("pwned"))
}

func TestListFollowsChanges(t *testing.T) {
	p := newProject(t, "includes")
	first := p.list().names()
	assert.Equal(t, first, p.list().names())

	p.write(".agent/zeta.yml", "version: '3'\ntasks: {changed: {desc: Changed}}\n")
	assert.Contains(t, p.list().names(), "zeta:changed", "an include changed")
	p.write(".agent/zeta.yml", "version: '3'\ntasks: {Changed: {desc: Changed}}\n")
	assert.Contains(t, p.list().names(), "zeta:Changed", "an include changed without changing its size")

	assert.NotContains(t, p.list().names(), "later:on")
	p.write(".agent/later.yml", "version: '3'\ntasks: {on: {desc: Later on}}\n")
	assert.Contains(t, p.list().names(), "later:on", "an optional include appeared")

	p.write(".agent/docs/taskfile.yml", "version: '3'\ntasks: {less: {desc: Less wanted}}\n")
	assert.Contains(t, p.list().names(), "docs:serve")
	require.NoError(t, os.Remove(filepath.Join(p.dir, ".agent/docs/Taskfile.yml")))
	assert.Contains(t, p.list().names(), "docs:less", "another file of an included directory counts")

	p.write(".agent/Taskfile.yml", "version: '3'\ntasks: {only: {desc: The only one}}\n")
	assert.Equal(t, []string{"only"}, p.list().names())
	require.NoError(t, os.Remove(filepath.Join(p.dir, ".agent/Taskfile.yml")))
	assert.Empty(t, p.list().names())
	p.write(".agent/Taskfile.yml", "version: '3'\ntasks: {back: {desc: Back}}\n")
	assert.Equal(t, []string{"back"}, p.list().names())
}

func TestListFollowsDotenv(t *testing.T) {
	p := newProject(t, "plain")
	p.list()
	p.write(".env", "FROM_DOTENV=other\n")
	found := false
	for _, c := range p.list().Commands {
		found = found || c.Description == "Build static  other"
	}
	assert.True(t, found)
}

// An unchanged Taskfile is listed without starting the child again.
func TestListIsKept(t *testing.T) {
	starts := 0
	p := newProject(t, "includes", func(o *taskfile.Options) {
		binary := o.Binary
		o.Binary = func() (string, error) { starts++; return binary() }
	})
	time.Sleep(50 * time.Millisecond) // older than the guard against just changed files
	for range 5 {
		p.list()
	}
	assert.Equal(t, 1, starts)
}

// A new process finds the listing of an earlier one, unless a file or the environment has changed.
func TestListIsKeptOnDisk(t *testing.T) {
	starts := 0
	cache := t.TempDir()
	p := newProject(t, "includes", func(o *taskfile.Options) {
		o.CacheDir = filepath.Join(cache, "tasks")
		o.Env = []string{"LISTING_OF"}
		o.Prepare = func(*exec.Cmd) (map[string]any, error) { starts++; return nil, nil }
	})
	old := time.Now().Add(-time.Minute)
	require.NoError(t, filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, _ error) error {
		return os.Chtimes(path, old, old) // older than the guard against just changed files
	}))
	want := p.list()
	assert.Equal(t, want, p.restarted().list())
	assert.Equal(t, 1, starts)

	p.write(".agent/zeta.yml", "version: '3'\ntasks: {changed: {desc: Changed}}\n")
	assert.Contains(t, p.restarted().list().names(), "zeta:changed")
	assert.Equal(t, 2, starts)

	t.Setenv("LISTING_OF", "another environment")
	assert.Contains(t, p.restarted().list().names(), "zeta:changed")
	assert.Equal(t, 3, starts)
}

// Commands never waits for the process that lists them.
func TestCommandsAreThoseThatAreKnown(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	p := newProject(t, "includes", func(o *taskfile.Options) {
		o.Prepare = func(*exec.Cmd) (map[string]any, error) { close(begun); <-goOn; return nil, nil }
	})
	old := time.Now().Add(-time.Minute)
	require.NoError(t, filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, _ error) error {
		return os.Chtimes(path, old, old) // older than the guard against just changed files
	}))
	_, known := p.tasks.Commands()
	assert.False(t, known, "and nothing was started")
	checked := make(chan error)
	go func() { checked <- p.tasks.Check(t.Context()) }()
	<-begun
	_, known = p.tasks.Commands()
	assert.False(t, known)
	close(goOn)
	require.NoError(t, <-checked)
	names, known := p.tasks.Commands()
	assert.True(t, known)
	assert.Equal(t, p.list().names(), names)
	require.NoError(t, os.Remove(filepath.Join(p.dir, ".agent", "Taskfile.yml")))
	names, known = p.tasks.Commands()
	assert.True(t, known, "there is no Taskfile")
	assert.Empty(t, names)
}

func TestWatched(t *testing.T) {
	p := newProject(t, "includes")
	p.list()
	var watched []string
	for _, path := range p.tasks.Watched(t.Context()) {
		rel, err := filepath.Rel(p.dir, path)
		require.NoError(t, err)
		watched = append(watched, filepath.ToSlash(rel))
	}
	assert.Equal(t, []string{
		".agent/Taskfile.yml", ".agent/docs", ".agent/docs/Taskfile.yml", ".agent/docs/deep/Taskfile.yaml",
		".agent/flat.yml", ".agent/later.yml", ".agent/zeta.yml",
	}, watched)
}

func TestBrokenTaskfile(t *testing.T) {
	const head = "version: '3'\n"
	for name, c := range map[string]struct {
		content string
		file    string
		line    int
		text    string
	}{
		"wrong type": {head + "tasks:\n  a:\n    cmds: 3\n", ".agent/Taskfile.yml", 4, "cannot unmarshal"},
		"unknown kind": {head + "tasks:\n  a: [x: y: z]\n", ".agent/Taskfile.yml", 2,
			"yaml"}, // the YAML library's own count
		"tab":             {head + "tasks:\n\ta: x\n", ".agent/Taskfile.yml", 3, "yaml"},
		"no version":      {"tasks: {a: {desc: x}}\n", ".agent/Taskfile.yml", 0, "version"},
		"not YAML":        {"\x00\x01\x02", ".agent/Taskfile.yml", 0, "control characters"},
		"empty":           {"", ".agent/Taskfile.yml", 0, "version"},
		"missing include": {head + "includes: {x: ./gone.yml}\n", ".agent/Taskfile.yml", 0, "gone.yml"},
		"broken include":  {head + "includes: {x: ./inc.yml}\n", ".agent/inc.yml", 3, "cannot unmarshal"},
		"include cycle":   {head + "includes: {x: ./cycle.yml}\n", ".agent/Taskfile.yml", 0, "cycle"},
		"remote include": {head + "includes: {x: 'https://127.0.0.1:1/Taskfile.yml'}\n", ".agent/Taskfile.yml", 0,
			"127.0.0.1"},
		"git include": {head + "includes: {x: 'https://127.0.0.1:1/x.git//Taskfile.yml'}\n", ".agent/Taskfile.yml",
			0, "127.0.0.1"},
		"version 1": {"# old\nversion: '1'\ntasks: {a: {desc: x}}\n", ".agent/Taskfile.yml", 2,
			"no longer supported"},
		"version 2":   {"version: '2'\ntasks: {a: {desc: x}}\n", ".agent/Taskfile.yml", 1, "no longer supported"},
		"version 2.6": {"tasks: {a: {desc: x}}\nversion: 2.6\n", ".agent/Taskfile.yml", 2, "no longer supported"},
		"version 3.99": {"version: '3.99'\ntasks: {a: {desc: x}}\n", ".agent/Taskfile.yml", 1,
			"greater than the current version of Task"},
		"version 4": {"version: '4'\ntasks: {a: {desc: x}}\n", ".agent/Taskfile.yml", 1,
			"greater than the current version of Task"},
		"version mismatch": {head + "includes: {x: ./old.yml}\n", ".agent/Taskfile.yml", 0, "versions should match"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "tab" && name != "version 2" && name != "broken include" {
				testneed.NotShort(t, "three of these are enough")
			}
			p := newProject(t, "")
			p.write(".agent/Taskfile.yml", c.content)
			p.write(".agent/inc.yml", head+"tasks:\n  x: {cmds: 3}\n")
			p.write(".agent/cycle.yml", head+"includes: {y: ./Taskfile.yml}\n")
			p.write(".agent/old.yml", "version: '3.1'\ntasks: {a: {desc: x}}\n")
			for tl, params := range map[string]any{
				"list_commands": map[string]any{}, "run_command": map[string]any{"command": "a"},
				"task": map[string]any{"args": "a"},
			} {
				e := p.fails(tl, params)
				assert.Equal(t, tool.Unavailable, e.Code, tl)
				assert.Contains(t, e.Message, c.text, tl)
				assert.NotContains(t, e.Message, "\x1b", tl)
				assert.Equal(t, c.file, e.Details["file"], tl)
				if c.line > 0 {
					assert.EqualValues(t, c.line, e.Details["line"], tl)
				}
			}
			p.write(".agent/Taskfile.yml", "version: '3.40'\ntasks: {fixed: {desc: Fixed}}\n")
			assert.Equal(t, []string{"fixed"}, p.list().names())
		})
	}
}

func TestTaskfileThatIsNoFile(t *testing.T) {
	p := newProject(t, "")
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, ".agent/Taskfile.yml"), 0o755))
	assert.Equal(t, tool.Unavailable, p.fails("list_commands", map[string]any{}).Code)
}

// A large file is refused before go-task reads it: go-task takes gigabytes to report an error in one.
func TestTaskfileThatIsTooLarge(t *testing.T) {
	p := newProject(t, "")
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, ".agent"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, ".agent/Taskfile.yml"), []byte("version: '3'\n"), 0o644))
	require.NoError(t, os.Truncate(filepath.Join(p.dir, ".agent/Taskfile.yml"), 1<<40))
	assert.Contains(t, p.fails("list_commands", map[string]any{}).Message, "Taskfile.yml: it is larger than 1 MiB")
}

func TestTaskfileOutside(t *testing.T) {
	p := newProject(t, "", func(o *taskfile.Options) { o.Path = "../Taskfile.yml" })
	assert.Equal(t, tool.PathOutsideWorkspace, p.fails("list_commands", map[string]any{}).Code)
	assert.Empty(t, p.tasks.Watched(t.Context()))
}

func TestMissingProgram(t *testing.T) {
	p := newProject(t, "plain", func(o *taskfile.Options) { o.Binary = nil })
	t.Setenv("PATH", p.dir)
	p.write("toolhost-task", "#!/bin/sh\ntouch pwned\n")
	require.NoError(t, os.Chmod(filepath.Join(p.dir, "toolhost-task"), 0o755))
	for tl, params := range map[string]any{"list_commands": map[string]any{},
		"run_command": map[string]any{"command": "x"}, "task": map[string]any{}} {
		e := p.fails(tl, params)
		assert.Equal(t, tool.Unavailable, e.Code)
		assert.Contains(t, e.Suggestion, "go install")
	}
	assert.False(t, p.exists("pwned"))
}

func TestCancelledListing(t *testing.T) {
	p := newProject(t, "plain")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.call(ctx, "list_commands", map[string]any{})
	assert.True(t, errors.Is(err, &tool.Error{Code: tool.Cancelled}), "%v", err)
	assert.NotEmpty(t, p.list().Commands)
}
