package agentbench_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

type parameter struct {
	kind     string
	required bool
	def      any
}

var contract = map[string]struct {
	parameters map[string]parameter
	timeout    time.Duration
}{
	"list_files": {map[string]parameter{"root": {"string", false, "."}, "glob": {"string", false, nil}},
		30 * time.Second},
	"read_file": {map[string]parameter{
		"path": {"string", true, nil}, "start_line": {"integer", false, nil}, "end_line": {"integer", false, nil},
	}, 10 * time.Second},
	"search": {map[string]parameter{
		"query": {"string", true, nil}, "glob": {"string", false, nil}, "max_results": {"integer", false, 50.0},
		"context_lines": {"integer", false, 2.0}, "is_regex": {"boolean", false, false},
	}, 60 * time.Second},
	"apply_patch": {map[string]parameter{"unified_diff": {"string", true, nil}}, 10 * time.Second},
	"run": {map[string]parameter{
		"command": {"string", true, nil}, "timeout_sec": {"integer", false, nil}, "env": {"object", false, nil},
	}, 60 * time.Second},
}

func TestParametersAreTheContracts(t *testing.T) {
	tools := agentbench.New(agentbench.Deps{})
	assert.Len(t, tools, len(contract))
	for _, tl := range tools {
		d := tl.Definition()
		want, ok := contract[d.Name]
		require.True(t, ok, d.Name)
		var s struct {
			Properties map[string]struct {
				Type    string
				Default any
			}
			Required             []string
			AdditionalProperties any
		}
		require.NoError(t, json.Unmarshal(d.Parameters, &s), d.Name)
		assert.Equal(t, false, s.AdditionalProperties, d.Name)
		assert.Len(t, s.Properties, len(want.parameters), d.Name)
		for name, p := range want.parameters {
			assert.Equal(t, p.kind, s.Properties[name].Type, "%s.%s", d.Name, name)
			assert.Equal(t, p.def, s.Properties[name].Default, "%s.%s", d.Name, name)
			if p.required {
				assert.Contains(t, s.Required, name, d.Name)
			} else {
				assert.NotContains(t, s.Required, name, d.Name)
			}
		}
	}
}

func TestDefinitions(t *testing.T) {
	risks := map[string]tool.Risk{
		"list_files": tool.ReadOnly, "read_file": tool.ReadOnly, "search": tool.ReadOnly,
		"apply_patch": tool.Dangerous, "run": tool.Dangerous,
	}
	for _, tl := range agentbench.New(agentbench.Deps{}) {
		d := tl.Definition()
		assert.Contains(t, d.Description, "Returns:", d.Name)
		assert.Equal(t, risks[d.Name], d.Risk, d.Name)
		assert.NotEmpty(t, d.Permissions, d.Name)
		assert.Greater(t, d.Timeout, contract[d.Name].timeout, "the host waits for the tool's own answer")
		compiled, err := schema.Compile(d.Parameters)
		require.NoError(t, err, d.Name)
		require.NotEmpty(t, d.Examples, d.Name)
		for _, e := range d.Examples {
			_, _, violations := compiled.Decode(e.Params)
			assert.Empty(t, violations, d.Name)
		}
	}
}

func TestWithoutAWorkspace(t *testing.T) {
	for _, tl := range agentbench.New(agentbench.Deps{}) {
		r, err := tl.Call(t.Context(), &tool.Call{Tool: tl.Definition().Name, Params: json.RawMessage("{}")})
		require.NoError(t, err)
		e := open(t, tl, r)
		assert.Equal(t, "unavailable", e.Error.Type)
	}
}

func TestEnvelopeOfASuccess(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "x\n")
	e := f.call(t, "read_file", `{"path":"f"}`)
	assert.Equal(t, "request-read_file", e.RequestID)
	assert.Equal(t, "read_file", e.Tool)
	assert.Equal(t, "success", e.Status)
	assert.Nil(t, e.ExitCode)
	assert.Nil(t, e.StdoutPath)
	assert.Nil(t, e.StderrPath)
}

func TestNullStandsForLeftOut(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "x\n")
	assert.Equal(t, []string{"f"}, strs(f.succeeds(t, "list_files", `{"root":".","glob":null}`)["files"]))
	assert.Equal(t, "x\n", f.succeeds(t, "read_file", `{"path":"f","start_line":null,"end_line":null}`)["content"])
	assert.Equal(t, 1.0, f.succeeds(t, "search", `{"query":"x","glob":null}`)["total_matches"])
	assert.Equal(t, 0.0, f.succeeds(t, "run", `{"command":"true","timeout_sec":null,"env":null}`)["exit_code"])
	n := f.tools["run"].(tool.Normalizer)
	for _, same := range []string{`{"command":"x"}`, `[1]`, `nonsense`, ``, `null`} {
		assert.Equal(t, same, string(n.Normalize(json.RawMessage(same))))
	}
}

func TestHostMadeErrors(t *testing.T) {
	for _, c := range []struct {
		err  *tool.Error
		want string
	}{
		{tool.Errorf(tool.PathOutsideWorkspace, "x").Suggest("y"), "path_escape"},
		{tool.Errorf(tool.Blocked, "x").Suggest("y").With("reason", "symlink"), "symlink_blocked"},
		{tool.Errorf(tool.Blocked, "x").Suggest("y"), "blocked"},
		{tool.Errorf(tool.Timeout, "x"), "timeout"},
		{tool.Errorf(tool.InvalidArgument, "x").Suggest("y").With("violations", []string{"z"}), "invalid_argument"},
		{tool.Errorf(tool.Denied, "x").Suggest("y"), "denied"},
		{tool.Errorf(tool.Cancelled, "x").Suggest("y"), "cancelled"},
		{tool.Errorf(tool.Unavailable, "x").Suggest("y"), "unavailable"},
		{tool.Errorf(tool.Internal, "x").Suggest("y"), "internal"},
		{tool.Errorf(tool.NotFound, "there is no tool named x").Suggest("y"), "unknown_tool"},
	} {
		for _, tl := range agentbench.New(agentbench.Deps{}) {
			name := tl.Definition().Name
			r := tl.(tool.ErrorRenderer).RenderError(&tool.Call{Tool: name, RequestID: "7"}, c.err)
			e := open(t, tl, r)
			assert.Equal(t, c.want, e.Error.Type)
			assert.Equal(t, c.err.Message, e.Error.Message)
			assert.Equal(t, "7", e.RequestID)
			assert.Equal(t, name, e.Tool)
			assert.Same(t, c.err, r.Failed)
			for key := range c.err.Details {
				assert.Contains(t, e.Error.Details, key)
			}
			if name == "run" && c.want == "timeout" {
				require.NotNil(t, e.ExitCode)
				assert.Equal(t, 124, *e.ExitCode)
			} else {
				assert.Nil(t, e.ExitCode)
			}
		}
	}
}

func TestTimeout(t *testing.T) {
	limits := map[string]float64{"list_files": 30, "read_file": 10, "search": 60, "apply_patch": 10}
	f := newFixture(t)
	f.write(t, "f", "x\n")
	f.expired(t)
	for name, params := range map[string]string{
		"list_files": `{}`, "read_file": `{"path":"f"}`, "search": `{"query":"x"}`,
		"apply_patch": `{"unified_diff":"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n"}`,
	} {
		e := f.fails(t, "timeout", "did not finish within", name, params)
		assert.Equal(t, limits[name], e.Error.Details["timeout_sec"], name)
		assert.Equal(t, tool.Timeout, e.result.Failed.Code)
	}
	assert.Equal(t, "x\n", f.read(t, "f"))
}

func TestCancelled(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.ctx = ctx
	f.fails(t, "cancelled", "cancelled", "list_files", `{}`)
}
