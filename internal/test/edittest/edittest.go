// Package edittest tests tools that edit a file through package fileedit.
package edittest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testfile"
)

// Bench is a workspace with an editing tool.
type Bench struct {
	t    testing.TB
	dir  string
	tool tool.Tool
}

// New returns an empty workspace with the tool.
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

// Definition returns the tool's definition.
func (b *Bench) Definition() *tool.Definition { return b.tool.Definition() }

// Path returns a file's path.
func (b *Bench) Path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// Write writes a file and creates its directories.
func (b *Bench) Write(name, data string) {
	b.t.Helper()
	testfile.Write(b.t, b.Path(name), data)
}

// Read returns a file's content.
func (b *Bench) Read(name string) string {
	b.t.Helper()
	return testfile.Read(b.t, b.Path(name))
}

// Result is an editing tool's result.
type Result struct {
	Message            string `json:"message"`
	ActualReplacements int    `json:"actual_replacements"`
	Diff               string `json:"diff"`
}

// Call calls the tool as the host does. It checks that a plan says the same
// beforehand and changes nothing.
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

// Snapshot lists all files with content, mode and modification time.
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

// Definition checks what all editing tools' definitions share, and returns the compiled parameters.
func Definition(t testing.TB, d *tool.Definition, name string) *schema.Schema {
	t.Helper()
	assert.Equal(t, name, d.Name)
	assert.Contains(t, d.Description, "Returns: ")
	assert.Equal(t, tool.Dangerous, d.Risk)
	assert.Equal(t, []tool.Permission{tool.FileRead, tool.FileWrite}, d.Permissions)
	parameters, err := schema.Compile(d.Parameters)
	require.NoError(t, err)
	require.Len(t, d.Examples, 2)
	for _, e := range d.Examples {
		_, _, violations := parameters.Decode(e.Params)
		assert.Empty(t, violations)
	}
	_, err = schema.Compile(d.Returns)
	require.NoError(t, err)
	return parameters
}

// Fails makes a call that must fail, among files that cannot be edited: a
// binary, a directory, a protected one and those outside. The message must
// start with the contract's code and contain text.
func (b *Bench) Fails(params map[string]any, contract string, code tool.Code, text string) {
	b.t.Helper()
	for name, data := range map[string]string{
		"f.go": "package a\n\nfunc a() {\n\treturn 1\n}\n", "crlf": "a\r\n", "empty": "", "binary": "a\x00b",
		"latin1": "\xe9",
		"dir/x":  "a", ".git/config": "a", "../outside.txt": "secret",
	} {
		b.Write(name, data)
	}
	for name, target := range map[string]string{"link": "../outside.txt", "dirlink": "..", "dangling": "nowhere"} {
		require.NoError(b.t, os.Symlink(target, b.Path(name)))
	}
	_, err := b.Call(params)
	require.NotNil(b.t, err)
	assert.Equal(b.t, code, err.Code, err.Message)
	assert.Equal(b.t, contract, err.Details["contract_code"])
	assert.True(b.t, strings.HasPrefix(err.Message, contract+": "), err.Message)
	assert.Contains(b.t, err.Message, text)
}

// KeepsModeAndSymlink makes a call that must replace a by b in the file link, a
// symlink, and checks that it stays one and that its target keeps its mode.
func (b *Bench) KeepsModeAndSymlink(params map[string]any) {
	b.t.Helper()
	b.Write("d/f", "a")
	require.NoError(b.t, os.Chmod(b.Path("d/f"), 0o751))
	require.NoError(b.t, os.Symlink("d/f", b.Path("link")))
	_, err := b.Call(params)
	require.Nil(b.t, err)
	info, statErr := os.Lstat(b.Path("link"))
	require.NoError(b.t, statErr)
	assert.NotZero(b.t, info.Mode()&os.ModeSymlink)
	info, statErr = os.Stat(b.Path("d/f"))
	require.NoError(b.t, statErr)
	assert.Equal(b.t, os.FileMode(0o751), info.Mode().Perm())
	assert.Equal(b.t, "b", b.Read("d/f"))
}

// FIFO requires that the tool refuses a named pipe instead of blocking. edit
// returns the parameters that edit the file at path.
func (b *Bench) FIFO(edit func(path string) map[string]any) {
	b.t.Helper()
	require.NoError(b.t, syscall.Mkfifo(b.Path("pipe"), 0o644))
	done := make(chan *tool.Error, 1)
	go func() {
		_, err := b.Call(edit("pipe"))
		done <- err
	}()
	select {
	case err := <-done:
		require.NotNil(b.t, err)
		assert.Equal(b.t, tool.Unsupported, err.Code)
	case <-time.After(time.Minute):
		b.t.Fatal("the call hangs")
	}
}

// ReadOnlyFile requires that the tool does not change a file that its owner has
// made read-only. edit returns the parameters that replace a by b in the file
// at path.
func (b *Bench) ReadOnlyFile(edit func(path string) map[string]any) {
	b.t.Helper()
	b.Write("f", "a")
	require.NoError(b.t, os.Chmod(b.Path("f"), 0o444))
	_, err := b.Call(edit("f"))
	require.NotNil(b.t, err)
	assert.Equal(b.t, tool.PermissionDenied, err.Code)
	assert.Equal(b.t, "EDIT_FILE_WRITE_ERROR", err.Details["contract_code"])
}
