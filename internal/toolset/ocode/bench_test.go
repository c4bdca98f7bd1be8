package ocode_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/toolset/ocode"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

type args = map[string]any

type given struct {
	Success  bool           `json:"success"`
	Output   string         `json:"output"`
	Error    string         `json:"error"`
	Metadata map[string]any `json:"metadata"`

	text  string
	files []string
}

type bench struct {
	t     testing.TB
	outer string // holds the workspace and files outside of it
	root  string
	tools map[string]tool.Tool
	host  *plugintest.Host
}

func newBench(t testing.TB) *bench { return newBenchWith(t, ocode.Deps{}) }

func newBenchWith(t testing.TB, deps ocode.Deps) *bench {
	t.Helper()
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &bench{t: t, outer: outer, root: filepath.Join(outer, "ws"), host: new(plugintest.Host)}
	require.NoError(t, os.Mkdir(b.root, 0o755))
	deps.Workspace, err = workspace.Open(b.root, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = deps.Workspace.Close() })
	deps.Tasks = background.Open(b.root+"-tasks", background.Options{})
	deps.Place = subagent.Place{Root: b.root}
	deps.Place.Confine.Level = "off"
	b.tools = byName(ocode.New(deps))
	return b
}

func byName(list []tool.Tool) map[string]tool.Tool {
	tools := make(map[string]tool.Tool)
	for _, t := range list {
		tools[t.Definition().Name] = t
	}
	return tools
}

func (b *bench) path(name string) string { return filepath.Join(b.root, filepath.FromSlash(name)) }

func (b *bench) write(name, data string) {
	b.t.Helper()
	testfile.Write(b.t, b.path(name), data)
}

func (b *bench) read(name string) string {
	b.t.Helper()
	return testfile.Read(b.t, b.path(name))
}

func (b *bench) call(name string, params args) given {
	b.t.Helper()
	require.Contains(b.t, b.tools, name)
	called := b.tools[name]
	r, err := called.Call(context.Background(), &tool.Call{
		Tool: name, Session: "s", Step: 1, RequestID: "r", Workspace: b.root, Host: b.host,
		Params: called.(tool.Normalizer).Normalize(tool.MustMarshal(params)),
	})
	require.NoError(b.t, err)
	var g given
	var members map[string]json.RawMessage
	require.NoError(b.t, json.Unmarshal(r.Structured, &g))
	require.NoError(b.t, json.Unmarshal(r.Structured, &members))
	assert.Len(b.t, members, 4, "success, output, error and metadata, and nothing else")
	assert.NotNil(b.t, g.Metadata)
	g.text, g.files = r.Text(), r.FilesAffected
	assert.Equal(b.t, g.Success, r.Failed == nil)
	if g.Success {
		declared := b.declared(name)
		for fact := range g.Metadata {
			assert.Contains(b.t, declared, fact, "the schema of %s's results tells all of the metadata", name)
		}
	}
	return g
}

// declared returns the metadata in the tool's result schema.
func (b *bench) declared(name string) []string {
	require.Contains(b.t, b.tools, name)
	var returns struct {
		Properties struct {
			Metadata struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"metadata"`
		} `json:"properties"`
	}
	require.NoError(b.t, json.Unmarshal(b.tools[name].Definition().Returns, &returns))
	return slices.Collect(maps.Keys(returns.Properties.Metadata.Properties))
}

func (b *bench) ok(name string, params args) given {
	b.t.Helper()
	g := b.call(name, params)
	require.True(b.t, g.Success, "%s %v: %s", name, params, g.Error)
	assert.Empty(b.t, g.Error)
	assert.Equal(b.t, g.Output, g.text)
	return g
}

// warns calls a tool that must succeed in part.
func (b *bench) warns(warning, name string, params args) given {
	b.t.Helper()
	g := b.call(name, params)
	require.True(b.t, g.Success, g.Error)
	assert.Contains(b.t, g.Error, "Warning: "+warning)
	assert.Contains(b.t, g.text, warning, "who reads the text reads the warning")
	return g
}

func (b *bench) fails(want, name string, params args) given {
	b.t.Helper()
	g := b.call(name, params)
	require.False(b.t, g.Success, "%s %v gives %s", name, params, g.Output)
	b.failed(want, g)
	return g
}

// failed checks what holds for every failure.
func (b *bench) failed(want string, g given) {
	b.t.Helper()
	assert.Equal(b.t, want, g.Error)
	assert.Empty(b.t, g.Output, "empty on failure")
	assert.Equal(b.t, g.Error, g.text)
	assert.NotEmpty(b.t, g.Metadata["suggestion"])
	assert.NotEmpty(b.t, g.Metadata["error_code"])
	assert.Empty(b.t, g.files)
}

// failsWith is fails with the start of the error.
func (b *bench) failsWith(prefix, name string, params args) given {
	b.t.Helper()
	g := b.call(name, params)
	require.False(b.t, g.Success, "%s %v gives %s", name, params, g.Output)
	assert.Contains(b.t, g.Error, prefix)
	assert.Empty(b.t, g.Output)
	assert.NotEmpty(b.t, g.Metadata["suggestion"])
	return g
}
