// Package handstest calls the tools of the toolsets based on package hands, in its own workspace.
package handstest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/hands"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

// Patience limits a test's waits.
const Patience = time.Minute

// Bench is a workspace with the tools.
type Bench struct {
	T    testing.TB
	Root string
	Host *plugintest.Host
	// Deps are the tools' dependencies.
	Deps  hands.Deps
	tools map[string]tool.Tool
	step  int
}

// New makes a bench with files, given as names and contents. Commands run unconfined.
func New(t testing.TB, tools func(hands.Deps) []tool.Tool, files ...string) *Bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &Bench{T: t, Root: root, tools: make(map[string]tool.Tool), Host: new(plugintest.Host)}
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, os.MkdirAll(filepath.Dir(b.Path(files[i])), 0o755))
		require.NoError(t, os.WriteFile(b.Path(files[i]), []byte(files[i+1]), 0o644))
	}
	ws, err := workspace.Open(root, workspace.Options{Protect: []string{"agent.hcl"}})
	require.NoError(t, err)
	tasks := background.Open(filepath.Join(root+"-state", background.DirName), background.Options{})
	t.Cleanup(func() {
		_, err := tasks.EndAll(context.Background(), func(*background.Task) bool { return true }, "the test ends")
		require.NoError(t, err)
		_ = ws.Close()
		_ = os.RemoveAll(root + "-state")
	})
	deps := hands.Deps{Workspace: ws, Tasks: tasks,
		Confine: sandbox.Settings{Level: sandbox.Off, State: root + "-state"}}
	b.Deps = deps.Open()
	for _, tl := range tools(b.Deps) {
		b.tools[tl.Definition().Name] = tl
	}
	return b
}

// Path returns a file's absolute path.
func (b *Bench) Path(name string) string { return filepath.Join(b.Root, name) }

// Read returns a file's content, "<none>" if it is missing.
func (b *Bench) Read(name string) string {
	data, err := os.ReadFile(b.Path(name))
	if err != nil {
		return "<none>"
	}
	return string(data)
}

// Call calls a tool as the host does. params is an object or its JSON.
func (b *Bench) Call(ctx context.Context, name string, params any) *tool.Result {
	b.T.Helper()
	tl := b.tools[name]
	require.NotNil(b.T, tl, "there is a tool %s", name)
	compiled, err := schema.Compile(tl.Definition().Parameters)
	require.NoError(b.T, err)
	raw, ok := params.(string)
	if !ok {
		raw = string(tool.MustMarshal(params))
	}
	raw = strings.ReplaceAll(raw, "{{DIR}}", b.Root)
	given, _, violations := compiled.Decode(json.RawMessage(raw))
	b.step++
	call := &tool.Call{Tool: name, Session: "test", Step: b.step, Params: given, Workspace: b.Root, Host: b.Host}
	if len(violations) > 0 {
		e := tool.Errorf(tool.InvalidArgument, "%s", schema.Join(violations))
		return tl.(tool.ErrorRenderer).RenderError(call, e)
	}
	r, err := tl.Call(ctx, call)
	require.NoError(b.T, err)
	return r
}

// Case is a call and its expected result.
type Case struct {
	Name   string
	Tool   string
	Params string // {{DIR}} stands for the workspace, {{LIMIT}} for milliseconds in which a command can start
	Text   string // the whole text, "*" for any
	Has    []string
	Hasnt  []string
	Fails  bool
	After  map[string]string
}

// Check makes the calls in order.
func (b *Bench) Check(cases []Case) {
	b.T.Helper()
	for _, c := range cases {
		name := c.Name + " " + c.Tool + " " + c.Params
		var r *tool.Result
		var text string
		fill := strings.NewReplacer("{{DIR}}", b.Root)
		lacks := func(part string) bool { return !strings.Contains(text, fill.Replace(part)) }
		whole := c.Text != "*" && (c.Text != "" || len(c.Has) == 0)
		testproc.LongEnough(200*time.Millisecond, func(limit time.Duration) bool {
			fill = strings.NewReplacer("{{DIR}}", b.Root, "{{LIMIT}}", strconv.FormatInt(limit.Milliseconds(), 10))
			r = b.Call(context.Background(), c.Tool, fill.Replace(c.Params))
			text = r.Text()
			return !strings.Contains(c.Params, "{{LIMIT}}") || !slices.ContainsFunc(c.Has, lacks) &&
				(!whole || text == fill.Replace(c.Text))
		})
		assert.Equal(b.T, c.Fails, r.Failed != nil, "%s: %s", name, text)
		if whole {
			assert.Equal(b.T, fill.Replace(c.Text), text, name)
		}
		for _, part := range c.Has {
			assert.Contains(b.T, text, fill.Replace(part), name)
		}
		for _, part := range c.Hasnt {
			assert.NotContains(b.T, text, part, name)
		}
		for file, content := range c.After {
			assert.Equal(b.T, content, b.Read(file), "%s: %s", name, file)
		}
	}
}
