package undo

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// rebuilt copies the files of a flat workspace, and rebuilds the copy.
func rebuilt(t *testing.T, s *Store, root string, since time.Time) (map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(root)))
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	defer ws.Close()
	_, err = s.Rebuild(t.Context(), ws, since)
	return filesOf(t, dir), err
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			files[e.Name()] = "directory"
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(data)
	}
	return files
}

// TestRebuild goes back to each moment of a history that has undos in it.
func TestRebuild(t *testing.T) {
	root := t.TempDir()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := Open(filepath.Join(t.TempDir(), "undo"), Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	opened, err := workspace.Open(root, workspace.Options{Recorder: s.Recorder("", "", 0)})
	require.NoError(t, err)
	defer opened.Close()
	var moments []time.Time
	var states []map[string]string
	do := func(session, call string, change func(ws *workspace.Workspace) error) {
		t.Helper()
		now = now.Add(time.Hour)
		moments, states = append(moments, now), append(states, filesOf(t, root))
		_, ws := ForCall(t.Context(), opened, &tool.Call{Session: session, RequestID: call, Tool: "x"})
		require.NoError(t, change(ws))
	}
	write := func(name, text string) func(*workspace.Workspace) error {
		return func(ws *workspace.Workspace) error {
			_, err := ws.WriteFile(name, []byte(text), workspace.WriteOptions{})
			return err
		}
	}
	do("s", "1", write("a", "one"))
	do("s", "2", write("a", "two"))
	do("other", "3", write("b", "b one"))
	do("s", "4", func(ws *workspace.Workspace) error { return ws.Rename("a", "c", false) })
	do("s", "5", write("c", "three"))
	do("s", "5u", func(*workspace.Workspace) error {
		_, err := s.Undo(t.Context(), opened, Selection{Session: "s", Call: "5"})
		return err
	})
	do("other", "6", write("b", "b two"))
	for i, moment := range moments {
		got, err := rebuilt(t, s, root, moment)
		require.NoError(t, err)
		assert.Equal(t, states[i], got, "before change %d", i)
	}
	assert.Equal(t, map[string]string{"b": "b two", "c": "two"}, filesOf(t, root), "the workspace stays")

	left, err := s.Left(t.Context(), "s")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(left), 4)
	assert.Equal(t, Digest(false, false, workspace.Hash([]byte("one"))), left[0].Digest)
	assert.EqualValues(t, "c", left[2].To)

	// What somebody has changed since cannot be taken back, and it is said.
	require.NoError(t, os.WriteFile(filepath.Join(root, "b"), []byte("by hand"), 0o644))
	_, err = rebuilt(t, s, root, moments[0])
	assert.Equal(t, tool.Conflict, tool.CodeOf(err))
	assert.ErrorContains(t, err, "b has changed since (it was changed by the call 6)")
	_, err = rebuilt(t, s, root, now.Add(time.Hour))
	assert.NoError(t, err, "nothing is to be taken back")
}
