package clemini_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

const patience = time.Minute

type args = map[string]any

type bench struct {
	t     testing.TB
	root  string
	tools map[string]tool.Tool
	// host serves the tools; the user can be asked only if asking is set.
	host   *plugintest.Host
	asking bool
	step   int
	tasks  *background.Store
}

// quiet is a host without a user to ask.
type quiet struct{ *plugintest.Host }

func (quiet) Ask(context.Context, string, tool.Form) (tool.Answer, error) {
	return tool.Answer{}, tool.Errorf(tool.Unavailable, "nobody can be asked").Suggest("Do not ask.")
}

func newBench(t testing.TB, files ...string) *bench { return newBenchOf(t, clemini.Deps{}, files...) }

// newBenchOf makes a bench with files, given as names and contents.
func newBenchOf(t testing.TB, deps clemini.Deps, files ...string) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &bench{t: t, root: root, tools: make(map[string]tool.Tool), host: new(plugintest.Host)}
	for i := 0; i < len(files); i += 2 {
		b.write(files[i], files[i+1])
	}
	if deps.Workspace == nil {
		ws, err := workspace.Open(root, workspace.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { ws.Close() })
		deps.Workspace = ws
	}
	if deps.Tasks == nil {
		deps.Tasks = background.Open(root+"-tasks", background.Options{})
	}
	b.tasks = deps.Tasks
	t.Cleanup(b.endTasks)
	tools, err := clemini.New(deps)
	require.NoError(t, err)
	for _, tl := range tools {
		b.tools[tl.Definition().Name] = tl
	}
	return b
}

// local is a client that reaches the test's servers.
func local(t testing.TB) *netguard.Client {
	t.Helper()
	client, err := netguard.New(netguard.Options{Allow: []string{"127.0.0.1"}})
	require.NoError(t, err)
	return client
}

func (b *bench) endTasks() {
	tasks, err := b.tasks.List()
	require.NoError(b.t, err)
	for _, task := range tasks {
		_, _, err := b.tasks.Kill(context.Background(), task.ID)
		require.NoError(b.t, err)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.root, name) }

func (b *bench) write(name, content string) {
	b.t.Helper()
	testfile.Write(b.t, b.path(name), content)
}

func (b *bench) read(name string) string {
	b.t.Helper()
	return testfile.Read(b.t, b.path(name))
}

// try calls a tool as the host does: parameters are checked first.
func (b *bench) try(name string, params args) (*tool.Result, error) {
	b.t.Helper()
	tl := b.tools[name]
	require.NotNil(b.t, tl, "there is a tool %s", name)
	compiled, err := schema.Compile(tl.Definition().Parameters)
	require.NoError(b.t, err)
	raw, _, violations := compiled.Decode(tool.MustMarshal(params))
	b.step++
	call := &tool.Call{
		Tool: name, Session: "test", Step: b.step, Params: raw, Workspace: b.root,
		ArtifactDir: b.path(".agent/runs/test"), Host: quiet{b.host},
	}
	if b.asking {
		call.Host = b.host
	}
	if len(violations) > 0 {
		e := tool.Errorf(tool.InvalidArgument, "invalid parameters: %s", violations[0].String())
		return tl.(tool.ErrorRenderer).RenderError(call, e), nil
	}
	result, err := tl.Call(b.t.Context(), call)
	if err == nil && len(result.Structured) > 0 {
		b.fits(tl, result)
	}
	return result, err
}

// fits checks a result against the tool's schema, and that its text is the same object.
func (b *bench) fits(tl tool.Tool, result *tool.Result) {
	b.t.Helper()
	declared, err := schema.Compile(tl.Definition().Returns)
	require.NoError(b.t, err)
	_, _, violations := declared.Decode(result.Structured)
	assert.Empty(b.t, violations, "%s gave %s", tl.Definition().Name, result.Structured)
	assert.JSONEq(b.t, string(result.Structured), result.Text())
}

// call calls a tool that must not ask, and returns its object.
func (b *bench) call(name string, params args) (map[string]any, *tool.Result) {
	b.t.Helper()
	result, err := b.try(name, params)
	require.NoError(b.t, err)
	var object map[string]any
	require.NoError(b.t, json.Unmarshal(result.Structured, &object))
	return object, result
}

func (b *bench) ok(name string, params args) map[string]any {
	b.t.Helper()
	object, result := b.call(name, params)
	require.Nil(b.t, result.Failed, "%v", object)
	assert.NotContains(b.t, object, "error")
	return object
}

func (b *bench) gives(want, name string, params args) {
	b.t.Helper()
	assert.JSONEq(b.t, want, string(tool.MustMarshal(b.ok(name, params))))
}

// fails checks a failure's code, message, and that it has a next step.
func (b *bench) fails(code, message, name string, params args) map[string]any {
	b.t.Helper()
	object, result := b.call(name, params)
	require.NotNil(b.t, result.Failed, "%v", object)
	assert.Equal(b.t, code, object["error_code"], "%v", object)
	if message != "" {
		assert.Equal(b.t, message, object["error"])
	}
	assert.NotEmpty(b.t, object["error"])
	about, ok := object["context"].(map[string]any)
	require.True(b.t, ok, "%v", object)
	assert.NotEmpty(b.t, about["hint"], "every failure has a next step: %v", object)
	return object
}
