package plugins_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// logBuffer can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// fixture is a manager with its own workspace and cache.
type fixture struct {
	*plugins.Manager
	options plugins.Options
	log     *logBuffer
}

func newFixture(t *testing.T, change ...func(*plugins.Options)) *fixture {
	t.Helper()
	f := &fixture{log: new(logBuffer)}
	f.options = plugins.Options{
		Logger:    slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Dir:       t.TempDir(),
		CacheDir:  t.TempDir(),
		Workspace: sdk.Workspace{Root: t.TempDir()},
		Shipped: func(name string) (sdk.Plugin, bool) {
			return faultyPlugin(), name == "faulty"
		},
	}
	for _, c := range change {
		c(&f.options)
	}
	f.Manager = plugins.NewManager(f.options)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

// testPlugin declares the test binary as a plugin of that kind.
func testPlugin(t *testing.T, kind string) plugins.Spec {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return plugins.Spec{Name: kind, Path: path, Env: map[string]string{"TEST_PLUGIN": kind}, StartTimeout: time.Minute}
}

func (f *fixture) add(t *testing.T, spec plugins.Spec) map[string]tool.Tool {
	t.Helper()
	require.NoError(t, f.Add(spec))
	return f.tools(t, spec.Name)
}

func (f *fixture) tools(t *testing.T, name string) map[string]tool.Tool {
	t.Helper()
	list, err := f.Source(name).Tools(t.Context())
	require.NoError(t, err)
	byName := make(map[string]tool.Tool)
	for _, tl := range list {
		byName[tl.Definition().Name] = tl
	}
	return byName
}

func (f *fixture) status(t *testing.T, name string) plugins.Status {
	t.Helper()
	for _, s := range f.Status() {
		if s.Name == name {
			return s
		}
	}
	require.Fail(t, "no such plugin", name)
	return plugins.Status{}
}

func do(ctx context.Context, tl tool.Tool, what, arg string) (*tool.Result, error) {
	return tl.Call(ctx, &tool.Call{Tool: "do", Params: tool.MustMarshal(doInput{what, arg})})
}

func text(t *testing.T, r *tool.Result, err error) string {
	t.Helper()
	require.NoError(t, err)
	return r.Text()
}

func TestShippedPluginNeedsNoProcessToBeListed(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, plugins.Spec{Name: "faulty", Shipped: true})
	assert.Equal(t, plugins.Idle, f.status(t, "faulty").State)
	assert.Equal(t, "Echoes. Returns: it.", tools["echo"].Definition().Description)

	r, err := tools["echo"].Call(t.Context(), &tool.Call{Tool: "echo", Params: json.RawMessage("{}")})
	assert.Equal(t, "hello", text(t, r, err))
	s := f.status(t, "faulty")
	assert.Equal(t, plugins.Running, s.State)
	assert.NotZero(t, s.PID)
	assert.Equal(t, 1, s.Starts)
}

func withConfigured(o *plugins.Options) {
	p := configuredPlugin()
	p.Tools = []sdk.Tool{echo("")}
	o.Shipped = func(name string) (sdk.Plugin, bool) { return p, name == p.Name }
}

func TestPluginInProcess(t *testing.T) {
	f := newFixture(t, withConfigured)
	assert.ErrorContains(t, f.Add(plugins.Spec{Name: "elsewhere", Path: "/bin/true", InProcess: true}),
		"cannot run in its process")
	tools := f.add(t, plugins.Spec{Name: "configured", Shipped: true, InProcess: true,
		Config: json.RawMessage(`{"units":"imperial"}`)})
	assert.Equal(t, plugins.InProcess, f.status(t, "configured").State)
	for range 2 {
		r, err := tools["echo"].Call(t.Context(), &tool.Call{Tool: "renamed", Params: json.RawMessage("{}")})
		assert.Contains(t, text(t, r, err), "imperial")
		assert.Contains(t, r.Text(), f.options.Workspace.Root)
	}
	s := f.status(t, "configured")
	assert.Equal(t, plugins.InProcess, s.State)
	assert.Zero(t, s.PID)
	assert.Zero(t, s.Starts)
	assert.Equal(t, 2, s.Calls)
	require.NoError(t, f.Close())
	_, err := tools["echo"].Call(t.Context(), &tool.Call{Tool: "echo", Params: json.RawMessage("{}")})
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
}

func TestPluginInProcessWithAWrongConfiguration(t *testing.T) {
	for config, code := range map[string]tool.Code{`{"units":"furlongs"}`: tool.InvalidArgument,
		`{"token":"bad"}`: tool.PermissionDenied} {
		f := newFixture(t, withConfigured)
		tools := f.add(t,
			plugins.Spec{Name: "configured", Shipped: true, InProcess: true, Config: json.RawMessage(config)})
		_, err := tools["echo"].Call(t.Context(), &tool.Call{Tool: "echo", Params: json.RawMessage("{}")})
		assert.Equal(t, code, tool.CodeOf(err))
		assert.Equal(t, plugins.Failed, f.status(t, "configured").State)
		assert.Equal(t, code, f.status(t, "configured").LastError.Code)
	}
}

func TestToolsImplementWhatThePluginDeclares(t *testing.T) {
	for _, kind := range []struct{ shipped, inProcess bool }{{false, false}, {true, false}, {true, true}} {
		f := newFixture(t)
		spec := testPlugin(t, "faulty")
		spec.Shipped, spec.InProcess = kind.shipped, kind.inProcess
		tools := f.add(t, spec)
		_, plans := tools["echo"].(tool.Planner)
		_, renders := tools["echo"].(tool.ErrorRenderer)
		assert.False(t, plans || renders)
		assert.Equal(t, `{ }`, string(tools["echo"].(tool.Normalizer).Normalize(json.RawMessage(`{ }`))))
		argv, err := tools["echo"].(tool.Commander).CommandLine(t.Context(), &tool.Call{})
		assert.NoError(t, err)
		assert.Empty(t, argv)

		call := &tool.Call{Tool: "renamed", Params: json.RawMessage(`{"what":"pid"}`)}
		plan, err := tools["do"].(tool.Planner).Plan(t.Context(), call)
		require.NoError(t, err)
		assert.Equal(t, &tool.Plan{FilesAffected: []string{"a.txt"}, Preview: "plan of do"}, plan)
		argv, err = tools["do"].(tool.Commander).CommandLine(t.Context(), call)
		require.NoError(t, err)
		assert.Equal(t, []string{"do", "pid", "\xff"}, argv)
		_, err = tools["do"].(tool.Commander).CommandLine(t.Context(),
			&tool.Call{Params: json.RawMessage(`{"what":"fail"}`)})
		assert.Equal(t, tool.Blocked, tool.CodeOf(err))
		rendered := tools["do"].(tool.ErrorRenderer).RenderError(call, tool.Errorf(tool.Denied, "no"))
		assert.Contains(t, string(rendered.Structured), `"rendered":"denied"`)
		assert.JSONEq(t, `{"what":"pid"}`,
			string(tools["do"].(tool.Normalizer).Normalize(json.RawMessage(`{"alias":"pid"}`))))
	}
}

func TestCacheAnswersWithoutStartingThePlugin(t *testing.T) {
	first := newFixture(t)
	first.add(t, testPlugin(t, "faulty"))
	assert.Equal(t, 1, first.status(t, "faulty").Starts)
	require.NoError(t, first.Close())

	second := newFixture(t, func(o *plugins.Options) { o.CacheDir = first.options.CacheDir })
	tools := second.add(t, testPlugin(t, "faulty"))
	assert.Equal(t, 0, second.status(t, "faulty").Starts)
	assert.Len(t, tools, 2)
	assert.Equal(t, "1.2.3", second.status(t, "faulty").Version)
	r, err := do(t.Context(), tools["do"], "size", "abc")
	assert.Equal(t, "3", text(t, r, err))

	third := newFixture(t, func(o *plugins.Options) { o.CacheDir = first.options.CacheDir })
	spec := testPlugin(t, "faulty")
	spec.Args = []string{"--other"}
	third.add(t, spec)
	assert.Equal(t, 1, third.status(t, "faulty").Starts, "another command line is another plugin")
}

func TestConfigurationIsCheckedAndHandedOver(t *testing.T) {
	call := func(t *testing.T, config string) (string, error) {
		f := newFixture(t)
		spec := testPlugin(t, "configured")
		spec.Config = json.RawMessage(config)
		require.NoError(t, f.Add(spec))
		list, err := f.Source("configured").Tools(t.Context())
		if err != nil {
			return "", err
		}
		r, err := list[0].Call(t.Context(), &tool.Call{Tool: "echo", Params: json.RawMessage("{}")})
		return strings.TrimSuffix(text(t, r, err), f.options.Workspace.Root), nil
	}
	got, err := call(t, "")
	require.NoError(t, err)
	assert.Equal(t, "metric in ", got)
	got, err = call(t, `{"units":"imperial"}`)
	require.NoError(t, err)
	assert.Equal(t, "imperial in ", got)
	_, err = call(t, `{"units":"nautical","unit":1}`)
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
	assert.ErrorContains(t, err, "units")
	assert.ErrorContains(t, err, "unit")
	_, err = call(t, `{"token":"bad"}`)
	assert.Equal(t, tool.PermissionDenied, tool.CodeOf(err))
	assert.ErrorContains(t, err, "the token is not accepted")
}

func TestCallsRunAtTheSameTimeInOneProcess(t *testing.T) {
	f := newFixture(t)
	spec := testPlugin(t, "faulty")
	tools := f.add(t, spec)
	began := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			r, err := do(t.Context(), tools["do"], "sleep", "1s")
			assert.NoError(t, err)
			assert.Equal(t, "slept", r.Text())
		})
	}
	all.Wait()
	assert.Less(t, time.Since(began), 25*time.Second, "one after the other takes 50 s")
	assert.Equal(t, 1, f.status(t, "faulty").Starts)
}

func TestErrorsKeepCodeSuggestionAndDetails(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	_, err := do(t.Context(), tools["do"], "error", "")
	e := tool.AsError(err)
	assert.Equal(t, tool.NotUnique, e.Code)
	assert.Equal(t, "there are two", e.Message)
	assert.Equal(t, "Name one.", e.Suggestion)
	assert.Equal(t, map[string]any{"lines": []any{1.0, 2.0}}, e.Details)

	_, err = do(t.Context(), tools["do"], "plain", "")
	assert.Equal(t, tool.Internal, tool.CodeOf(err))
	assert.ErrorContains(t, err, "plain trouble")
}

func TestTextThatIsNotUTF8Arrives(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	r, err := do(t.Context(), tools["do"], "bytes", "")
	assert.Equal(t, "caf\xe9", text(t, r, err))
}

func TestSpecsThatCannotBeUsed(t *testing.T) {
	f := newFixture(t)
	for name, spec := range map[string]plugins.Spec{
		"no name":           {Path: "/bin/true"},
		"no path":           {Name: "a"},
		"bad checksum":      {Name: "a", Path: "/bin/true", SHA256: "abc"},
		"bad configuration": {Name: "a", Path: "/bin/true", Config: json.RawMessage("[]")},
		"not shipped":       {Name: "a", Shipped: true},
	} {
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(f.Add(spec)), name)
	}
	require.NoError(t, f.Add(plugins.Spec{Name: "a", Path: "/bin/true"}))
	assert.Equal(t, tool.Conflict, tool.CodeOf(f.Add(plugins.Spec{Name: "a", Path: "/bin/true"})))
	_, err := f.Source("b").Tools(t.Context())
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
}

func TestPrefixTimeoutAndLateConfiguration(t *testing.T) {
	f := newFixture(t)
	spec := testPlugin(t, "configured")
	spec.Prefix, spec.CallTimeout = "my_", 7*time.Second
	spec.ResolveConfig = func(declared json.RawMessage) (json.RawMessage, error) {
		assert.Contains(t, string(declared), "units")
		return json.RawMessage(`{"units":"imperial"}`), nil
	}
	tools := f.add(t, spec)
	require.Contains(t, tools, "my_echo")
	assert.Equal(t, 7*time.Second, tools["my_echo"].Definition().Timeout)
	r, err := tools["my_echo"].Call(t.Context(), &tool.Call{Tool: "my_echo", Params: json.RawMessage("{}")})
	assert.Contains(t, text(t, r, err), "imperial")

	f = newFixture(t)
	spec.ResolveConfig = func(json.RawMessage) (json.RawMessage, error) {
		return nil, tool.Errorf(tool.InvalidArgument, "agent.hcl:7: no such setting")
	}
	require.NoError(t, f.Add(spec))
	_, err = f.Source("configured").Tools(t.Context())
	assert.ErrorContains(t, err, "agent.hcl:7")
}
