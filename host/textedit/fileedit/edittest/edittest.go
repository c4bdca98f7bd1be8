// Package edittest tests tools that edit a file through package fileedit.
package edittest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// Bench is a workspace with an editing tool in it.
type Bench struct {
	t    testing.TB
	dir  string
	tool tool.Tool
}

// New makes an empty workspace, and the tool for it.
func New(t testing.TB, newTool func(*workspace.Workspace) tool.Tool) *Bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir = filepath.Join(dir, "ws")
	require.NoError(t, os.Mkdir(dir, 0o755))
	ws, err := workspace.Open(dir, workspace.Options{Protect: []string{".git/**"}})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	return &Bench{t, dir, newTool(ws)}
}

// Definition is the tool's.
func (b *Bench) Definition() *tool.Definition { return b.tool.Definition() }

// Path is where a file of the workspace lies.
func (b *Bench) Path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// Write makes a file, and the directories above it.
func (b *Bench) Write(name, data string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.Path(name)), 0o755))
	require.NoError(b.t, os.WriteFile(b.Path(name), []byte(data), 0o644))
}

// Read gives the content of a file.
func (b *Bench) Read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.Path(name))
	require.NoError(b.t, err)
	return string(data)
}

// Result is what an editing tool gives.
type Result struct {
	Message            string `json:"message"`
	ActualReplacements int    `json:"actual_replacements"`
	Diff               string `json:"diff"`
}

// Call calls the tool as the host does. It sees to it that a plan says the
// same beforehand and changes nothing.
func (b *Bench) Call(params map[string]any) (Result, *tool.Error) {
	b.t.Helper()
	compiled, err := schema.Compile(b.tool.Definition().Parameters)
	require.NoError(b.t, err)
	raw, _, violations := compiled.Decode(tool.MustMarshal(params))
	require.Empty(b.t, violations)
	call := &tool.Call{Tool: b.tool.Definition().Name, Params: raw}

	before := b.Snapshot()
	plan, planErr := b.tool.(tool.Planner).Plan(context.Background(), call)
	require.Equal(b.t, before, b.Snapshot(), "the plan changed something")

	r, err := b.tool.Call(context.Background(), call)
	if err != nil {
		require.Nil(b.t, r)
		require.Equal(b.t, before, b.Snapshot(), "the failed call changed something")
		e := tool.AsError(err)
		require.NotEmpty(b.t, e.Suggestion)
		if planErr != nil {
			require.Equal(b.t, e.Message, planErr.Error())
		}
		return Result{}, e
	}
	require.NoError(b.t, planErr)
	require.Equal(b.t, r.FilesAffected, plan.FilesAffected)
	var got Result
	require.NoError(b.t, json.Unmarshal(r.Structured, &got))
	require.JSONEq(b.t, string(r.Structured), r.Text())
	require.Contains(b.t, string([]rune(plan.Preview)), got.Diff) // in JSON, broken bytes are U+FFFD
	return got, nil
}

// Snapshot lists all files with content, mode and time of change.
func (b *Bench) Snapshot() map[string]string {
	b.t.Helper()
	files := map[string]string{}
	require.NoError(b.t, filepath.Walk(filepath.Dir(b.dir), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		data := ""
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err == nil {
				data = string(content)
			}
		}
		when := ""
		if !info.IsDir() {
			when = info.ModTime().Format(time.RFC3339Nano)
		}
		files[path] = info.Mode().String() + " " + when + " " + data
		return nil
	}))
	return files
}
