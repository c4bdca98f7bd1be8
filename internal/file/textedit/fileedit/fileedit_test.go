package fileedit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/file/textedit/patch"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/edithistory"
)

func open(t *testing.T) (*workspace.Workspace, string) {
	dir := t.TempDir()
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	return ws, dir
}

func apply(ws *workspace.Workspace, diff []byte) error {
	set, err := patch.Parse(diff)
	if err != nil {
		return err
	}
	changes, err := patch.Apply(set, func(path string) ([]byte, fs.FileMode, error) {
		data, info, err := ws.ReadFile(path, 0)
		if err != nil {
			return nil, 0, err
		}
		return data, info.Mode(), nil
	})
	if err != nil {
		return err
	}
	return ws.Batch(context.Background(), fileedit.Batch(changes))
}

// TestBatchReplaysAHistory applies git's diffs, commit by commit, and compares
// the whole tree each time.
func TestBatchReplaysAHistory(t *testing.T) {
	ws, dir := open(t)
	for i, c := range edithistory.Generate(t, edithistory.Options{Seed: 9, Commits: 60, Tree: true, Bytes: true}) {
		if len(c.Patch) == 0 {
			continue
		}
		require.NoError(t, apply(ws, c.Patch), "commit %d\n%s", i, c.Patch)
		got := map[string]string{}
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, _ := filepath.Rel(dir, path)
			data, err := os.ReadFile(path)
			info, _ := d.Info()
			got[filepath.ToSlash(rel)] = modeName(info.Mode()) + " " + string(data)
			return err
		}))
		want := map[string]string{}
		for name, f := range c.After {
			want[name] = f.Mode + " " + string(f.Data)
		}
		require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "commit %d", i)
		require.Equal(t, want, got, "commit %d\n%s", i, c.Patch)
	}
}

func modeName(mode fs.FileMode) string {
	if mode&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

func TestBatchIsAllOrNothing(t *testing.T) {
	ws, dir := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("a\n"), 0o644))
	set, err := patch.Parse([]byte("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n--- /dev/null\n+++ b/d/g\n@@ -0,0 +1 @@\n+g\n"))
	require.NoError(t, err)
	changes, err := patch.Apply(set, func(path string) ([]byte, fs.FileMode, error) {
		if path == "f" {
			return []byte("a\n"), 0o644, nil
		}
		return nil, 0, fs.ErrNotExist
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("changed meanwhile\n"), 0o644))
	err = ws.Batch(context.Background(), fileedit.Batch(changes))
	assert.Equal(t, tool.Conflict, tool.CodeOf(err))
	assert.NoDirExists(t, filepath.Join(dir, "d"))
}

func TestApplyAndPreviewAgree(t *testing.T) {
	ws, dir := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("a\n"), 0o644))
	upper := func([]byte) ([]byte, error) { return []byte("A\n"), nil }
	for name, e := range map[string]fileedit.Edit{
		"change": {Path: "f", Change: upper},
		"create": {Path: "d/new", Create: true, Change: upper},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := fileedit.Preview(context.Background(), ws, e)
			require.NoError(t, err)
			o, err := fileedit.Apply(context.Background(), ws, e)
			require.NoError(t, err)
			assert.Equal(t, before, o)
			assert.True(t, o.Changed())
			assert.Equal(t, []string{e.Path}, o.Plan().FilesAffected)
			data, err := os.ReadFile(filepath.Join(dir, e.Path))
			require.NoError(t, err)
			assert.Equal(t, "A\n", string(data))
		})
	}
}

func TestInContract(t *testing.T) {
	assert.NoError(t, fileedit.InContract(nil, "f"))
	coded := fileedit.Coded("CODE", tool.NoMatch, "f", "nothing there")
	assert.Same(t, coded, fileedit.InContract(coded, "f"))
	assert.Equal(t, "CODE: nothing there (f)", coded.Message)
	cancelled := tool.Errorf(tool.Cancelled, "cancelled")
	assert.Same(t, cancelled, fileedit.InContract(cancelled, "f"))
	err := fileedit.InContract(errors.New("disk on fire"), "f")
	assert.Equal(t, "EDIT_FILE_WRITE_ERROR: disk on fire (f)", err.Error())
	assert.Equal(t, tool.Internal, tool.CodeOf(err))
}

func TestShownDiff(t *testing.T) {
	small := fileedit.Outcome{Path: "a.txt", Old: []byte("a\n"), New: []byte("b\n")}
	assert.Equal(t, small.Diff(), small.ShownDiff())

	large := fileedit.Outcome{Path: "dir/a.txt", Created: true, New: []byte(strings.Repeat("one line\n", 20_000))}
	shown := large.ShownDiff()
	assert.Less(t, len(shown), 33<<10)
	lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
	note := lines[len(lines)-1]
	lines = lines[:len(lines)-1]
	assert.Equal(t, lines, strings.Split(large.Diff(), "\n")[:len(lines)], "what is shown is shown in whole lines")
	left := strings.Count(large.Diff(), "\n") - len(lines)
	assert.Equal(t, fmt.Sprintf(
		"[%d more lines of this diff left out; the change is made as a whole, read dir/a.txt to see it]", left), note)
}
