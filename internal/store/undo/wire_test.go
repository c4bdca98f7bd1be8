package undo_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
)

func TestOpenWorkspaceKeepsWhatCallsChange(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(real, link))
	require.NoError(t, os.WriteFile(filepath.Join(real, "f"), []byte("old"), 0o644))
	ws, err := undo.OpenWorkspace(storeOf(real), link, workspace.Options{})
	require.NoError(t, err)
	defer ws.Close()
	ctx, view := undo.ForCall(context.Background(), ws,
		&tool.Call{Session: "s", RequestID: "c1", Step: 3, Tool: "edit"})
	call, ok := undo.CallOf(ctx)
	assert.True(t, ok)
	assert.Equal(t, undo.Call{Session: "s", ID: "c1", Step: 3, Tool: "edit"}, call)
	_, err = view.WriteFile("f", []byte("new"), workspace.WriteOptions{})
	require.NoError(t, err)

	store, err := undo.Open(storeOf(real), undo.Options{})
	require.NoError(t, err)
	_, err = store.Undo(context.Background(), ws, undo.Selection{Session: "s", Call: "c1"})
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(real, "f"))
	require.NoError(t, err)
	assert.Equal(t, "old", string(data))
}

func TestOpenWorkspaceSaysWhatIsWrongWithTheRoot(t *testing.T) {
	_, err := undo.OpenWorkspace(storeOf(t.TempDir()), filepath.Join(t.TempDir(), "none"), workspace.Options{})
	require.Error(t, err)
	_, ws := undo.ForCall(context.Background(), nil, &tool.Call{})
	assert.Nil(t, ws)
}

func TestWhereNothingIsKept(t *testing.T) {
	dir := t.TempDir()
	store := undo.None(tool.Errorf(tool.Unavailable, "there is no place").Suggest("Make one."))
	ws, err := workspace.Open(dir, workspace.Options{Recorder: store.Recorder("", "", 0)})
	require.NoError(t, err)
	defer ws.Close()
	_, err = ws.WriteFile("f", []byte("new"), workspace.WriteOptions{})
	require.NoError(t, err)
	for _, ask := range []func() error{
		func() error { _, err := store.Calls(t.Context(), undo.Filter{}); return err },
		func() error { _, err := store.Undo(t.Context(), ws, undo.Selection{}); return err },
		func() error { _, err := store.Plan(t.Context(), ws, undo.Selection{}); return err },
		store.Kept,
	} {
		err := ask()
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
		assert.ErrorContains(t, err, "changes cannot be undone here: there is no place")
		assert.Equal(t, "Make one.", tool.AsError(err).Suggestion)
	}
	ran, err := store.PruneIfDue(t.Context(), time.Hour)
	assert.False(t, ran)
	require.NoError(t, err)
	_, err = store.Prune(t.Context())
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestPruneIfDue(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFixture(t, undo.Options{MaxAge: time.Hour, Now: func() time.Time { return now }})
	due := func() bool {
		ran, err := f.store.PruneIfDue(context.Background(), time.Minute)
		require.NoError(t, err)
		return ran
	}
	assert.False(t, due(), "nothing is kept yet")
	f.write("c1", "f", "x")
	assert.True(t, due(), "it was never done")
	assert.False(t, due())
	now = now.Add(59 * time.Second)
	assert.False(t, due())
	now = now.Add(2 * time.Hour)
	assert.True(t, due())
	calls, err := f.store.Calls(context.Background(), undo.Filter{})
	require.NoError(t, err)
	assert.Empty(t, calls, "what was too old is gone")

	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	old := time.Unix(1e9, 0)
	require.NoError(t, os.Chtimes(outside, old, old))
	marker := filepath.Join(f.store.Dir(), "pruned")
	require.NoError(t, os.Remove(marker))
	require.NoError(t, os.Symlink(outside, marker))
	_, err = f.store.PruneIfDue(context.Background(), time.Minute)
	require.Error(t, err, "a planted link is not followed")
	info, err := os.Stat(outside)
	require.NoError(t, err)
	assert.True(t, info.ModTime().Equal(old))
}
