package cliagent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

// checkDefinition checks that a tool has the risk and exactly the parameters of the contract.
func checkDefinition(t *testing.T, name string, risk tool.Risk, types string, required ...string) {
	t.Helper()
	for _, tl := range cliagent.New(cliagent.Deps{}) {
		d := tl.Definition()
		if d.Name != name {
			continue
		}
		assert.Equal(t, risk, d.Risk)
		assert.Contains(t, d.Description, "Returns:")
		var s struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		require.NoError(t, json.Unmarshal(d.Parameters, &s))
		assert.Equal(t, "object", s.Type)
		listed := map[string]string{}
		for param, p := range s.Properties {
			listed[param] = p.Type
			assert.NotEmpty(t, p.Description, param)
		}
		assert.JSONEq(t, types, string(tool.MustMarshal(listed)))
		assert.Equal(t, required, s.Required)
		compiled, err := schema.Compile(d.Parameters)
		require.NoError(t, err)
		for _, e := range d.Examples {
			_, _, violations := compiled.Decode(e.Params)
			assert.Empty(t, violations)
		}
		_, err = schema.Compile(d.Returns)
		require.NoError(t, err)
		return
	}
	t.Fatalf("there is no tool %s", name)
}

func defaults(t *testing.T, name string) map[string]any {
	t.Helper()
	for _, tl := range cliagent.New(cliagent.Deps{}) {
		if tl.Definition().Name == name {
			compiled, err := schema.Compile(tl.Definition().Parameters)
			require.NoError(t, err)
			_, values, _ := compiled.Decode(json.RawMessage(`{"pattern":"p","command":"c","url":"u"}`))
			if values == nil { // not all of them are known
				for _, raw := range []string{`{}`, `{"pattern":"p"}`, `{"command":"c"}`, `{"url":"u"}`} {
					if _, values, _ = compiled.Decode(json.RawMessage(raw)); values != nil {
						break
					}
				}
			}
			return values
		}
	}
	return nil
}

func TestToolCatalog(t *testing.T) {
	var names []string
	for _, tl := range cliagent.New(cliagent.Deps{}) {
		names = append(names, tl.Definition().Name)
		_, renders := tl.(tool.ErrorRenderer)
		assert.True(t, renders, tl.Definition().Name)
		assert.Same(t, tl.Definition(), tl.Definition())
	}
	assert.Equal(t, []string{
		"create_file", "read_file", "replace_string_in_file", "list_dir", "file_search", "grep_search",
		"run_in_terminal", "terminal_last_command", "create_directory", "fetch_webpage",
	}, names)
}

func TestPlanners(t *testing.T) {
	var names []string
	for _, tl := range cliagent.New(cliagent.Deps{}) {
		if _, ok := tl.(tool.Planner); ok {
			names = append(names, tl.Definition().Name)
		}
	}
	assert.ElementsMatch(t, []string{"create_file", "replace_string_in_file", "create_directory", "run_in_terminal"},
		names)
}

func TestWithoutWorkspace(t *testing.T) {
	for _, tl := range cliagent.New(cliagent.Deps{}) {
		r, err := tl.Call(t.Context(), &tool.Call{Params: json.RawMessage("{}")})
		require.NoError(t, err)
		assert.Equal(t, tool.Unavailable, r.Failed.Code)
		if p, ok := tl.(tool.Planner); ok {
			_, err := p.Plan(t.Context(), &tool.Call{Params: json.RawMessage("{}")})
			assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
		}
	}
}

func TestRenderError(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		host tool.Code
		want string
	}{
		{tool.InvalidArgument, "invalid_parameter"}, {tool.PathOutsideWorkspace, "path_outside_working_dir"},
		{tool.Denied, "rejected"}, {tool.NeedsConfirmation, "rejected"}, {tool.Blocked, "rejected"},
		{tool.Timeout, "timeout"}, {tool.PermissionDenied, "permission_denied"}, {tool.AlreadyExists, "file_exists"},
		{tool.IsDirectory, "is_a_directory"}, {tool.NotADirectory, "not_a_directory"},
		{tool.NoMatch, "string_not_found"},
		{tool.TooLarge, "invalid_parameter"}, {tool.Internal, "internal"}, {tool.Cancelled, "cancelled"},
		{"invalid_line_range", "invalid_line_range"},
	} {
		host := tool.Errorf(c.host, "the call went wrong").Suggest("Do better.")
		for name, tl := range b.tools {
			r := tl.(tool.ErrorRenderer).RenderError(&tool.Call{Tool: name}, host)
			g := b.checked(tl, r)
			assert.Equal(t, c.want, g.Error.Code)
			assert.Equal(t, "Error: The call went wrong", r.Text())
			assert.Equal(t, "Do better.", g.Error.Suggestion)
		}
		assert.Equal(t, c.host, host.Code, "the host's error was changed")
	}
	r := cliagent.RenderError(&tool.Call{Tool: "no_such_tool"},
		tool.Errorf(tool.NotFound, `there is no tool "no_such_tool"`))
	assert.Contains(t, string(r.Structured),
		`{"success":false,"output":"","files_affected":[],"execution_time_ms":0,"error":{"code":"not_found"`)
}

func TestSuccessHasTheDocumentsFields(t *testing.T) {
	b := newBench(t)
	r, err := b.tools["create_file"].Call(t.Context(),
		&tool.Call{Tool: "create_file", Params: json.RawMessage(`{"path":"hello.py","content":"x"}`)})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(r.Structured, &fields))
	fields["execution_time_ms"] = 5
	assert.JSONEq(t, `{"success":true,"output":"Created file: hello.py (1 bytes)","files_affected":["hello.py"],"execution_time_ms":5}`,
		string(tool.MustMarshal(fields)))
}

func TestMalformedParameters(t *testing.T) {
	b := newBench(t)
	for name := range b.tools {
		for _, raw := range []string{`[]`, `"x"`, `{`, `{"a":1,"a":2}`} {
			g := b.call(name, json.RawMessage(raw))
			assert.Equal(t, "invalid_parameter", g.Error.Code, "%s %s", name, raw)
		}
	}
}

func TestEndedContext(t *testing.T) {
	b := newBench(t)
	b.write("f", "x")
	params := map[string]args{
		"read_file": {"path": "f"}, "file_search": {"pattern": "*"}, "grep_search": {"pattern": "x"},
		"run_in_terminal": {"command": "true"},
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for name, p := range params {
		raw := tool.MustMarshal(p)
		r, err := b.tools[name].Call(cancelled, &tool.Call{Tool: name, Params: raw})
		require.NoError(t, err)
		assert.Equal(t, "cancelled", b.checked(b.tools[name], r).Error.Code, name)
		r, err = b.tools[name].Call(late, &tool.Call{Tool: name, Params: raw})
		require.NoError(t, err)
		assert.Equal(t, "timeout", b.checked(b.tools[name], r).Error.Code, name)
	}
}

func TestPlugin(t *testing.T) {
	p := plugintest.Start(t, cliagent.Plugin(),
		plugintest.Options{Config: cliagent.Config{WebAllow: []string{"127.0.0.1"}, OutputCap: 1000}})
	assert.Equal(t, "cliagent", p.Name())
	assert.Len(t, p.Tools(), 10)

	r, err := p.Call(t.Context(), "create_file", args{"path": "a.txt", "content": "eins\nzwei\n"})
	require.NoError(t, err)
	assert.Equal(t, "Created file: a.txt (10 bytes)", r.Text())
	assert.Equal(t, []string{"a.txt"}, r.FilesAffected)

	plan, err := p.Plan(t.Context(), "replace_string_in_file",
		args{"path": "a.txt", "old_string": "zwei", "new_string": "2"})
	require.NoError(t, err)
	assert.Contains(t, plan.Preview, "-zwei\n+2\n")
	_, err = p.Plan(t.Context(), "create_file", args{"path": "a.txt", "content": ""})
	assert.EqualValues(t, "file_exists", tool.CodeOf(err))

	r, err = p.Call(t.Context(), "run_in_terminal", args{"command": "cat a.txt"})
	require.NoError(t, err)
	assert.Equal(t, "Command output:\neins\nzwei\n", r.Text())
	r, err = p.Call(t.Context(), "terminal_last_command", nil)
	require.NoError(t, err)
	assert.Equal(t, "Last command: cat a.txt\nOutput: eins\nzwei", r.Text())

	r, err = p.Call(t.Context(), "read_file", args{"path": "../x"})
	require.NoError(t, err)
	assert.EqualValues(t, "path_outside_working_dir", r.Failed.Code)
	r, err = p.RenderError(t.Context(), "read_file", nil,
		tool.Errorf(tool.Denied, "the call is denied").Suggest("Ask."))
	require.NoError(t, err)
	assert.EqualValues(t, "rejected", r.Failed.Code)

	_, err = plugintest.TryStart(t, cliagent.Plugin(),
		plugintest.Options{Config: args{"web_allow": []string{"not a host/"}}})
	assert.Error(t, err)
	_, err = plugintest.TryStart(t, cliagent.Plugin(),
		plugintest.Options{Workspace: sdk.Workspace{Root: "/no/such/dir"}})
	assert.Error(t, err)
	blocked := plugintest.Start(t, cliagent.Plugin(),
		plugintest.Options{Workspace: sdk.Workspace{Root: t.TempDir(), Symlinks: "block", Protect: []string{"*.lock"}}})
	r, err = blocked.Call(t.Context(), "create_file", args{"path": "a.lock", "content": ""})
	require.NoError(t, err)
	assert.EqualValues(t, "permission_denied", r.Failed.Code)
}
