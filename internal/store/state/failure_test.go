package state_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memories.json"), bytes.Repeat([]byte("not JSON "), 500), 0o600))
	_, _, err := openAt(t, dir).Scope("a", tool.PersistentScope, "").Get(t.Context(), "k")
	requireError(t, err, tool.Unavailable, "damaged")
}

func requireError(t *testing.T, err error, code tool.Code, text string) {
	t.Helper()
	require.Error(t, err)
	var e *tool.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, code, e.Code, e.Message)
	assert.Contains(t, e.Message, text)
	assert.NotEmpty(t, e.Suggestion)
}

func TestDirectoryInItsPlace(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "memories.json"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "approvals", "k.json"), 0o755))
	store := openAt(t, dir)
	for _, s := range []tool.State{store.Scope("a", tool.PersistentScope, ""), store.Directory("approvals")} {
		requireError(t, s.Set(t.Context(), "k", nil), tool.IsDirectory, "directory")
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	testneed.NotSuperuser(t)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	err := openAt(t, filepath.Join(dir, "x")).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil)
	requireError(t, err, tool.PermissionDenied, dir)
}

// A writer that never releases the lock is reported when the caller's patience ends, and the store works again
// afterwards.
func TestLockedByAnother(t *testing.T) {
	store := open(t)
	s := store.Scope("a", tool.SessionScope, "s")
	require.NoError(t, s.Set(t.Context(), "k", []byte("1")))
	other, err := os.OpenFile(filepath.Join(store.Dir(), "state.lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, filelock.Wait(other, true))

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	requireError(t, s.Set(ctx, "k", []byte("2")), tool.Timeout, store.Dir())
	value, _, err := s.Get(t.Context(), "k")
	require.NoError(t, err, "readers do not wait for a writer")
	assert.Equal(t, "1", string(value))

	filelock.Unlock(other)
	require.NoError(t, s.Set(t.Context(), "k", []byte("3")))
}
