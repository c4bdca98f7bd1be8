package state_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/testneed"
)

func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("not a database "), 500), 0o600))
	_, _, err := openAt(t, path).Scope("a", tool.SessionScope, "s").Get(t.Context(), "k")
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

func TestNewerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA user_version = 99")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	err = openAt(t, path).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil)
	requireError(t, err, tool.Unsupported, "newer")
}

func TestDirectoryInItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	require.NoError(t, os.Mkdir(path, 0o755))
	err := openAt(t, path).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil)
	requireError(t, err, tool.IsDirectory, "directory")
}

func TestReadOnlyDirectory(t *testing.T) {
	testneed.NotSuperuser(t)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	err := openAt(t, filepath.Join(dir, "state.db")).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil)
	requireError(t, err, tool.PermissionDenied, "state.db")
}

// A writer that holds the lock for good is reported when the caller's patience
// ends, and the store works again afterwards.
func TestLockedByAnother(t *testing.T) {
	store := open(t)
	s := store.Scope("a", tool.SessionScope, "s")
	require.NoError(t, s.Set(t.Context(), "k", []byte("1")))
	other, err := sql.Open("sqlite", store.Path())
	require.NoError(t, err)
	defer other.Close()
	conn, err := other.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	requireError(t, s.Set(ctx, "k", []byte("2")), tool.Timeout, "state.db")
	value, _, err := s.Get(t.Context(), "k")
	require.NoError(t, err, "readers do not wait for a writer")
	assert.Equal(t, "1", string(value))

	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, s.Set(t.Context(), "k", []byte("3")))
}
