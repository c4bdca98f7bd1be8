package cliagent_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

type args = map[string]any

type got struct {
	Success         bool
	Output          string
	FilesAffected   []string       `json:"files_affected"`
	ExecutionTimeMS *int64         `json:"execution_time_ms"`
	Metadata        map[string]any `json:"metadata"`
	Error           *struct{ Code, Message, Suggestion string }

	result *tool.Result
}

func (g got) meta() string { return string(tool.MustMarshal(g.Metadata)) }

// bench is a workspace with the tools and no host except its services.
type bench struct {
	t     testing.TB
	outer string // holds the workspace and files outside of it
	root  string
	ws    *workspace.Workspace
	tools map[string]tool.Tool
	host  tool.Services
	dir   string // for artifacts
}

func newBench(t testing.TB) *bench { return newBenchWith(t, cliagent.Deps{}, workspace.Options{}) }

func newBenchWith(t testing.TB, deps cliagent.Deps, opts workspace.Options) *bench {
	t.Helper()
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &bench{t: t, outer: outer, root: filepath.Join(outer, "ws"), tools: map[string]tool.Tool{},
		host: new(plugintest.Host)}
	require.NoError(t, os.Mkdir(b.root, 0o755))
	b.ws, err = workspace.Open(b.root, opts)
	require.NoError(t, err)
	t.Cleanup(func() { b.ws.Close() })
	deps.Workspace = b.ws
	if deps.Web == nil {
		deps.Web, err = cliagent.NewWeb([]string{"127.0.0.1"})
		require.NoError(t, err)
		t.Cleanup(deps.Web.Close)
	}
	if deps.Shell == "" {
		deps.Shell = "/bin/sh"
	}
	for _, tl := range cliagent.New(deps) {
		b.tools[tl.Definition().Name] = tl
	}
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.root, filepath.FromSlash(name)) }

func (b *bench) write(name, data string) {
	b.t.Helper()
	testfile.Write(b.t, b.path(name), data)
}

func (b *bench) mkdir(name string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(b.path(name), 0o755))
}

func (b *bench) link(target, name string) {
	b.t.Helper()
	require.NoError(b.t, os.Symlink(target, b.path(name)))
}

func (b *bench) read(name string) string {
	b.t.Helper()
	return testfile.Read(b.t, b.path(name))
}

// call calls a tool and checks what holds for every result.
func (b *bench) call(name string, params any) got {
	b.t.Helper()
	return b.callContext(b.t.Context(), name, params)
}

func (b *bench) callContext(ctx context.Context, name string, params any) got {
	b.t.Helper()
	raw, ok := params.(json.RawMessage)
	if !ok {
		raw = tool.MustMarshal(params)
	}
	tl := b.tools[name]
	require.NotNil(b.t, tl, name)
	call := &tool.Call{Tool: name, Session: "s", Step: 1, Params: raw, Workspace: b.root, ArtifactDir: b.dir,
		Host: b.host}
	var plan *tool.Plan
	var planErr error
	before := b.snapshot()
	planner, plans := tl.(tool.Planner)
	if plans {
		plan, planErr = planner.Plan(ctx, call)
		require.Equal(b.t, before, b.snapshot(), "the plan changed something")
	}
	r, err := tl.Call(ctx, call)
	require.NoError(b.t, err)
	g := b.checked(tl, r)
	if !g.Success && name != "run_in_terminal" {
		require.Equal(b.t, before, b.snapshot(), "the failed call changed something")
	}
	if plans && name != "run_in_terminal" {
		b.checkPlan(g, plan, planErr)
	}
	return g
}

func (b *bench) checkPlan(g got, plan *tool.Plan, err error) {
	b.t.Helper()
	if err == nil && !g.Success && g.Error.Code == "permission_denied" {
		return // what the system permits is not known in advance
	}
	if !g.Success {
		require.Error(b.t, err)
		assert.Equal(b.t, g.Error.Message, err.Error())
		assert.EqualValues(b.t, g.Error.Code, tool.CodeOf(err))
		return
	}
	require.NoError(b.t, err)
	assert.Equal(b.t, append([]string{}, g.FilesAffected...), append([]string{}, plan.FilesAffected...))
	assert.NotEmpty(b.t, plan.Preview)
}

// checked reads a result and checks it against the contract.
func (b *bench) checked(tl tool.Tool, r *tool.Result) got {
	b.t.Helper()
	require.NotNil(b.t, r)
	g := got{result: r}
	require.NoError(b.t, json.Unmarshal(r.Structured, &g))
	compiled, err := schema.Compile(tl.Definition().Returns)
	require.NoError(b.t, err)
	_, _, violations := compiled.Decode(r.Structured)
	require.Empty(b.t, violations)
	var raw map[string]any
	require.NoError(b.t, json.Unmarshal(r.Structured, &raw))
	allowed := []string{"success", "output", "files_affected", "execution_time_ms", "metadata", "error"}
	for key := range raw {
		require.Contains(b.t, allowed, key)
	}
	require.NotNil(b.t, g.ExecutionTimeMS)
	require.NotNil(b.t, g.FilesAffected)
	if g.Success {
		require.Nil(b.t, r.Failed)
		require.Nil(b.t, g.Error)
		require.Equal(b.t, g.Output, r.Text())
		require.Equal(b.t, append([]string{}, g.FilesAffected...), append([]string{}, r.FilesAffected...))
		return g
	}
	require.NotNil(b.t, r.Failed)
	require.NotNil(b.t, g.Error)
	require.Empty(b.t, g.Output)
	require.Empty(b.t, g.FilesAffected)
	require.Equal(b.t, "Error: "+g.Error.Message, r.Text())
	require.EqualValues(b.t, r.Failed.Code, g.Error.Code)
	require.NotEmpty(b.t, g.Error.Suggestion)
	return g
}

func (b *bench) ok(name string, params any) got {
	b.t.Helper()
	g := b.call(name, params)
	require.True(b.t, g.Success, "%s", g.result.Text())
	return g
}

// fails expects an error with the contract's text.
func (b *bench) fails(code, text, name string, params any) got {
	b.t.Helper()
	g := b.call(name, params)
	require.False(b.t, g.Success, "%s", g.Output)
	assert.Equal(b.t, code, g.Error.Code, g.Error.Message)
	assert.Equal(b.t, text, g.result.Text())
	return g
}

// invalid expects invalid_parameter with a message that names the problem.
func (b *bench) invalid(part, name string, params any) {
	b.t.Helper()
	g := b.call(name, params)
	require.False(b.t, g.Success, "%s", g.Output)
	assert.Equal(b.t, "invalid_parameter", g.Error.Code, g.Error.Message)
	assert.Contains(b.t, g.result.Text(), part)
}

// snapshot lists all files inside and outside, with content, mode and time.
func (b *bench) snapshot() map[string]string {
	b.t.Helper()
	files := map[string]string{}
	require.NoError(b.t, filepath.WalkDir(b.outer, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			data, _ := os.ReadFile(path)
			text += info.ModTime().String() + string(data)
		}
		files[path] = text
		return nil
	}))
	return files
}

// outside creates a file beside the workspace.
func (b *bench) outside(name, data string) string {
	b.t.Helper()
	path := filepath.Join(b.outer, name)
	require.NoError(b.t, os.WriteFile(path, []byte(data), 0o644))
	return path
}
