package undo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

type fixture struct {
	testing.TB
	dir   string
	store *undo.Store
	ws    *workspace.Workspace
	// current is the context of the last call.
	current context.Context
}

func newFixture(t testing.TB, o undo.Options) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return openFixture(t, dir, o)
}

func openFixture(t testing.TB, dir string, o undo.Options) *fixture {
	t.Helper()
	store, err := undo.Open(storeOf(dir), o)
	require.NoError(t, err)
	ws, err := workspace.Open(dir, workspace.Options{Recorder: store.Recorder("", "", 0)})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	return &fixture{TB: t, dir: dir, store: store, ws: ws}
}

// storeOf returns the store of the workspace dir.
func storeOf(dir string) string { return dir + "-undo" }

// as returns the workspace as the call sees it, in session s.
func (f *fixture) as(call string) *workspace.Workspace {
	f.current = f.ctx(call)
	return f.ws.WithContext(f.current)
}

func (f *fixture) ctx(call string) context.Context {
	return undo.WithCall(context.Background(), undo.Call{Session: "s", ID: call, Tool: "test"})
}

func (f *fixture) plant(path, content string) {
	f.Helper()
	abs := filepath.Join(f.dir, filepath.FromSlash(path))
	testfile.Write(f, abs, content)
}

func (f *fixture) write(call, path, content string) {
	f.Helper()
	_, err := f.as(call).WriteFile(path, []byte(content), workspace.WriteOptions{Parents: true})
	require.NoError(f, err)
}

func (f *fixture) undo(sel undo.Selection) *undo.Outcome {
	f.Helper()
	out, err := f.store.Undo(context.Background(), f.ws, sel)
	require.NoError(f, err)
	return out
}

func (f *fixture) refused(code tool.Code, sel undo.Selection) *tool.Error {
	f.Helper()
	before := f.tree()
	_, err := f.store.Undo(context.Background(), f.ws, sel)
	require.Error(f, err)
	require.Equal(f, code, tool.CodeOf(err), err)
	assert.NotEmpty(f, tool.AsError(err).Suggestion)
	assert.Equal(f, before, f.tree(), "a refused undo changes nothing")
	_, planErr := f.store.Plan(context.Background(), f.ws, sel)
	assert.Equal(f, code, tool.CodeOf(planErr), "the plan says the same: %v", planErr)
	return tool.AsError(err)
}

func (f *fixture) tree() string {
	f.Helper()
	var b strings.Builder
	require.NoError(f, filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(f.dir, path)
		if rel == ".agent" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", filepath.ToSlash(rel), info.Mode())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %s", target)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// steps are all ways to change a workspace; each is one call.
func steps() []step {
	exec := func(f *fixture, changes ...workspace.Change) error {
		return f.ws.Batch(f.current, changes)
	}
	return []step{
		{"create", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("new", []byte("new"), workspace.WriteOptions{})
			return err
		}},
		{"create with parents and a mode", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("p/q/new", []byte{}, workspace.WriteOptions{Parents: true, Mode: 0o700})
			return err
		}},
		{"replace", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("a", []byte("A2"), workspace.WriteOptions{})
			return err
		}},
		{"replace by nothing", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("a", nil, workspace.WriteOptions{})
			return err
		}},
		{"fill an empty file", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("empty", []byte("x"), workspace.WriteOptions{})
			return err
		}},
		{"update", func(f *fixture, ws *workspace.Workspace) error {
			return ws.Update("d/b", func(old []byte, _ fs.FileInfo) ([]byte, error) { return append(old, "!"...), nil })
		}},
		{"append", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.Append("a", []byte("more"), workspace.WriteOptions{})
			return err
		}},
		{"append in place", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.Append("big", []byte("more"), workspace.WriteOptions{})
			return err
		}},
		{"through a symlink", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("link", []byte("linked"), workspace.WriteOptions{})
			return err
		}},
		{"remove", func(f *fixture, ws *workspace.Workspace) error { return ws.Remove("wide") }},
		{"remove an empty file", func(f *fixture, ws *workspace.Workspace) error { return ws.Remove("empty") }},
		{"remove a symlink", func(f *fixture, ws *workspace.Workspace) error {
			return errors.Join(ws.Remove("link"), ws.Remove("dangling"))
		}},
		{"remove directories", func(f *fixture, ws *workspace.Workspace) error {
			return errors.Join(ws.Remove("d/b"), ws.Remove("d/e/c"), ws.RemoveDir("d/e"), ws.RemoveDir("d"))
		}},
		{"a directory in place of a file", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.Mkdir("gone/x", true)
			_, err2 := ws.WriteFile("a/b", nil, workspace.WriteOptions{})
			if err2 == nil {
				return errors.New("a is a file")
			}
			err = errors.Join(err, ws.Remove("a"))
			_, err3 := ws.WriteFile("a/b/c", []byte("deep"), workspace.WriteOptions{Parents: true})
			return errors.Join(err, err3)
		}},
		{"a file in place of a directory", func(f *fixture, ws *workspace.Workspace) error {
			err := errors.Join(ws.Remove("d/e/c"), ws.RemoveDir("d/e"))
			_, err2 := ws.WriteFile("d/e", []byte("file"), workspace.WriteOptions{})
			return errors.Join(err, err2)
		}},
		{"a file in place of a symlink", func(f *fixture, ws *workspace.Workspace) error {
			err := ws.Remove("link")
			_, err2 := ws.WriteFile("link", []byte("file"), workspace.WriteOptions{})
			return errors.Join(err, err2)
		}},
		{"mkdir", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.Mkdir("m/n/o", true)
			return err
		}},
		{"chmod", func(f *fixture, ws *workspace.Workspace) error {
			return errors.Join(ws.Chmod("a", 0o700), ws.Chmod("d", 0o700))
		}},
		{"make read-only", func(f *fixture, ws *workspace.Workspace) error {
			if _, err := ws.WriteFile("a", []byte("frozen"), workspace.WriteOptions{}); err != nil {
				return err
			}
			return ws.Chmod("a", 0o444)
		}},
		{"rename", func(f *fixture, ws *workspace.Workspace) error { return ws.Rename("a", "d/z", false) }},
		{"rename over", func(f *fixture, ws *workspace.Workspace) error { return ws.Rename("a", "wide", true) }},
		{"rename a symlink", func(f *fixture, ws *workspace.Workspace) error { return ws.Rename("link", "l2", false) }},
		{"rename a directory", func(f *fixture, ws *workspace.Workspace) error {
			err := errors.Join(ws.Rename("d", "dd", false), ws.Rename("dd/e", "e", false))
			_, err2 := ws.WriteFile("dd/b", []byte("after the move"), workspace.WriteOptions{})
			_, err3 := ws.WriteFile("e/new", []byte("after the move"), workspace.WriteOptions{})
			_, err4 := ws.WriteFile("d", []byte("in its place"), workspace.WriteOptions{})
			return errors.Join(err, err2, err3, err4)
		}},
		{"swap by three renames", func(f *fixture, ws *workspace.Workspace) error {
			return errors.Join(ws.Rename("a", "t", false), ws.Rename("wide", "a", false), ws.Rename("t", "wide", false))
		}},
		{"edit, rename, edit", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("a", []byte("one"), workspace.WriteOptions{})
			err2 := ws.Rename("a", "A3", false)
			_, err3 := ws.WriteFile("A3", []byte("two"), workspace.WriteOptions{})
			return errors.Join(err, err2, err3)
		}},
		{"create and remove", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("t", []byte("t"), workspace.WriteOptions{})
			return errors.Join(err, ws.Remove("t"))
		}},
		{"batch", func(f *fixture, ws *workspace.Workspace) error {
			return exec(f,
				workspace.Change{Kind: workspace.Create, Path: "b1/c", Data: []byte("c")},
				workspace.Change{Kind: workspace.Replace, Path: "a", Data: []byte("batch"), Mode: 0o755},
				workspace.Change{Kind: workspace.Delete, Path: "wide"},
				workspace.Change{Kind: workspace.Rename, Path: "d/b", To: "b2/b"},
				workspace.Change{Kind: workspace.Chmod, Path: "empty", Mode: 0o640})
		}},
		{"batch that swaps", func(f *fixture, ws *workspace.Workspace) error {
			return exec(f, workspace.Change{Kind: workspace.Rename, Path: "a", To: "wide"},
				workspace.Change{Kind: workspace.Rename, Path: "wide", To: "a"})
		}},
		{"unicode", func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("ünï/日本 \"q\" \n\t😀", []byte("x"), workspace.WriteOptions{Parents: true})
			return errors.Join(err, ws.Remove("naïve 文件"), ws.Rename("nfd-e\u0301", "nfc-\u00e9x", false))
		}},
	}
}

type step struct {
	name string
	do   func(f *fixture, ws *workspace.Workspace) error
}

// stage returns the workspace that steps work on.
func stage(t testing.TB) *fixture {
	f := newFixture(t, undo.Options{})
	for path, content := range map[string]string{
		"a": "A\n", "wide": "w\r\n\x00", "empty": "", "d/b": "B", "d/e/c": "C", "naïve 文件": "u", "nfd-e\u0301": "n",
	} {
		f.plant(path, content)
	}
	require.NoError(t, os.Chmod(filepath.Join(f.dir, "wide"), 0o777)) // beyond the umask
	require.NoError(t, os.Symlink("a", filepath.Join(f.dir, "link")))
	require.NoError(t, os.Symlink("/nowhere/at all", filepath.Join(f.dir, "dangling")))
	return f
}

func TestUndoAndRedoOfEveryChange(t *testing.T) {
	for _, s := range steps() {
		t.Run(s.name, func(t *testing.T) {
			f := stage(t)
			if s.name == "append in place" {
				testneed.NotShort(t, "makes copies of 16 MB")
				f.plant("big", strings.Repeat("0123456789abcde\n", 1<<20))
			}
			before := f.tree()
			require.NoError(t, s.do(f, f.as("c1")))
			after := f.tree()
			plan, err := f.store.Plan(context.Background(), f.ws, undo.Selection{})
			require.NoError(t, err)
			assert.Equal(t, after, f.tree(), "planning changes nothing")
			assert.Equal(t, []string{"c1"}, plan.Calls)
			out := f.undo(undo.Selection{})
			assert.Equal(t, before, f.tree(), "undone")
			assert.Equal(t, plan.Files, out.Files)
			if before == after {
				return
			}
			assert.NotEmpty(t, plan.Files)
			assert.NotEmpty(t, plan.Preview)
			f.refused(tool.NoChange, undo.Selection{Session: "s", Call: "c1"})
			redo := f.undo(undo.Selection{Redo: true})
			assert.Equal(t, []string{out.Call}, redo.Calls)
			assert.Equal(t, after, f.tree(), "redone")
			f.undo(undo.Selection{Session: "s", Call: redo.Call})
			assert.Equal(t, before, f.tree(), "undone by undoing the redo")
			f.undo(undo.Selection{Redo: true})
			f.undo(undo.Selection{})
			assert.Equal(t, before, f.tree(), "undone once more")
		})
	}
}

func TestUndoOfASession(t *testing.T) {
	f := stage(t)
	trees := []string{f.tree()}
	for n, s := range steps() {
		_ = s.do(f, f.as(fmt.Sprint("c", n))) // by now some fail half-way
		trees = append(trees, f.tree())
	}
	last := f.tree()
	out := f.undo(undo.Selection{All: true})
	assert.Equal(t, trees[0], f.tree())
	f.undo(undo.Selection{Call: out.Call})
	assert.Equal(t, last, f.tree())
	for i := len(trees) - 1; i > 0; i-- {
		if trees[i] != trees[i-1] {
			f.undo(undo.Selection{Session: "s", Call: fmt.Sprint("c", i-1)})
			require.Equal(t, trees[i-1], f.tree(), "%s", steps()[i-1].name)
		}
	}
}
