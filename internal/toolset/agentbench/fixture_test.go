package agentbench_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

type fixture struct {
	root      string
	artifacts string
	ws        *workspace.Workspace
	tools     map[string]tool.Tool
	host      *plugintest.Host
	step      int
	ctx       context.Context
}

func newFixture(t testing.TB) *fixture {
	return newFixtureOf(t, workspace.Options{Symlinks: workspace.Block}, agentbench.Deps{Unconfined: true})
}

func newFixtureOf(t testing.TB, options workspace.Options, deps agentbench.Deps) *fixture {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws, err := workspace.Open(root, options)
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	deps.Workspace = ws
	f := &fixture{
		root: root, artifacts: filepath.Join(root, ".agent", "runs", "test"), ws: ws,
		tools: make(map[string]tool.Tool), host: new(plugintest.Host), ctx: t.Context(),
	}
	for _, tl := range agentbench.New(deps) {
		f.tools[tl.Definition().Name] = tl
	}
	return f
}

// envelope is the contract's ToolResult, with pointers where null differs from absent.
type envelope struct {
	RequestID   string  `json:"request_id"`
	Tool        string  `json:"tool"`
	Status      string  `json:"status"`
	StartedAt   string  `json:"started_at"`
	EndedAt     string  `json:"ended_at"`
	DurationSec float64 `json:"duration_sec"`
	Data        map[string]any
	Error       *struct {
		Type    string         `json:"error_type"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	ExitCode   *int    `json:"exit_code"`
	StdoutPath *string `json:"stdout_path"`
	StderrPath *string `json:"stderr_path"`

	result *tool.Result
}

func (f *fixture) newCall(name string, params json.RawMessage) *tool.Call {
	f.step++
	return &tool.Call{
		Tool: name, Session: "test", RequestID: "request-" + name, Step: f.step, Params: params,
		Workspace: f.root, ArtifactDir: f.artifacts, Host: f.host,
	}
}

// call does what the host does: normalize and check the parameters, fill in
// defaults, call. Params are JSON text or data.
func (f *fixture) call(t testing.TB, name string, params any) *envelope {
	t.Helper()
	tl := f.tools[name]
	require.NotNil(t, tl, name)
	raw, ok := params.(string)
	data := json.RawMessage(raw)
	if !ok {
		data = tool.MustMarshal(params)
	}
	data = tl.(tool.Normalizer).Normalize(data)
	compiled, err := schema.Compile(tl.Definition().Parameters)
	require.NoError(t, err)
	decoded, _, violations := compiled.Decode(data)
	require.Empty(t, violations)
	result, err := tl.Call(f.ctx, f.newCall(name, decoded))
	require.NoError(t, err)
	return open(t, tl, result)
}

// open reads an envelope and checks what holds for all of them.
func open(t testing.TB, tl tool.Tool, result *tool.Result) *envelope {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(result.Structured, &fields))
	for _, name := range []string{"request_id", "tool", "status", "started_at", "ended_at", "duration_sec", "data",
		"error", "exit_code", "stdout_path", "stderr_path"} {
		assert.Contains(t, fields, name)
		delete(fields, name)
	}
	assert.Empty(t, fields, "fields that the contract does not have")
	assert.JSONEq(t, string(result.Structured), result.Text(), "the text is the object")
	e := &envelope{result: result}
	require.NoError(t, json.Unmarshal(result.Structured, e))
	started, err := time.Parse(time.RFC3339Nano, e.StartedAt)
	require.NoError(t, err)
	ended, err := time.Parse(time.RFC3339Nano, e.EndedAt)
	require.NoError(t, err)
	assert.Regexp(t, `\.\d+Z$`, e.StartedAt)
	assert.Regexp(t, `\.\d+Z$`, e.EndedAt)
	assert.False(t, ended.Before(started))
	assert.InDelta(t, ended.Sub(started).Seconds(), e.DurationSec, 0.001)
	checkReturns(t, tl, result)
	switch e.Status {
	case "success":
		assert.Nil(t, e.Error)
		assert.NotNil(t, e.Data)
		assert.Nil(t, result.Failed)
	case "error":
		require.NotNil(t, e.Error)
		assert.NotEmpty(t, e.Error.Message)
		assert.NotEmpty(t, e.Error.Details["suggestion"], "every error has a next step")
		assert.NotNil(t, result.Failed)
	default:
		t.Errorf("status %q", e.Status)
	}
	return e
}

func checkReturns(t testing.TB, tl tool.Tool, result *tool.Result) {
	t.Helper()
	compiled, err := schema.Compile(tl.Definition().Returns)
	require.NoError(t, err)
	_, _, violations := compiled.Decode(result.Structured)
	assert.Empty(t, violations)
}

func (f *fixture) succeeds(t testing.TB, name string, params any) map[string]any {
	t.Helper()
	e := f.call(t, name, params)
	require.Equal(t, "success", e.Status, "%+v", e.Error)
	return e.Data
}

// fails expects an error of a type, whose message contains text.
func (f *fixture) fails(t testing.TB, kind, text, name string, params any) *envelope {
	t.Helper()
	e := f.call(t, name, params)
	require.Equal(t, "error", e.Status, "%s %v", name, params)
	assert.Equal(t, kind, e.Error.Type, e.Error.Message)
	assert.Contains(t, e.Error.Message, text)
	assert.Nil(t, e.Data)
	return e
}

func (f *fixture) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(f.root, name)
	testfile.Write(t, path, content)
}

func (f *fixture) read(t testing.TB, name string) string {
	t.Helper()
	return testfile.Read(t, filepath.Join(f.root, name))
}

func (f *fixture) outside(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret\n"), 0o644))
	return dir
}

func (f *fixture) link(t testing.TB, target, name string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(f.root, name)), 0o755))
	require.NoError(t, os.Symlink(target, filepath.Join(f.root, name)))
}

// expired makes further calls time out.
func (f *fixture) expired(t testing.TB) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	t.Cleanup(cancel)
	f.ctx = ctx
}

func strs(list any) []string {
	out := []string{}
	for _, v := range list.([]any) {
		out = append(out, v.(string))
	}
	return out
}

func (f *fixture) violations(t testing.TB, name, params string) []schema.Violation {
	t.Helper()
	compiled, err := schema.Compile(f.tools[name].Definition().Parameters)
	require.NoError(t, err)
	_, _, violations := compiled.Decode(json.RawMessage(params))
	return violations
}
