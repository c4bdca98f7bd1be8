package state_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

func TestSymlinkIsRefused(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	for _, name := range []string{"state.db", "state.db-wal"} {
		path := filepath.Join(t.TempDir(), "state.db")
		if err := os.Symlink(outside, filepath.Join(filepath.Dir(path), name)); err != nil {
			testneed.Missing(t, "symbolic links cannot be made here")
		}
		err := openAt(t, path).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil)
		requireError(t, err, tool.PathOutsideWorkspace, name)
	}
	root := t.TempDir()
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(root, ".agent")))
	err := openAt(t, filepath.Join(root, ".agent", "state.db")).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k",
		nil)
	requireError(t, err, tool.PathOutsideWorkspace, ".agent")
}

func TestDirectoryInItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	require.NoError(t, os.Mkdir(path, 0o755))
	err := openAt(t, path).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil)
	requireError(t, err, tool.IsDirectory, "directory")
}

func TestReadOnlyDirectory(t *testing.T) {
	if runtime.GOOS == "windows" || testneed.Superuser() {
		t.Skip("permission bits do not bind this user")
	}
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

// What a workspace brings along runs nothing: a view or a trigger in the file
// would be evaluated in the host.
func TestForeignLayoutIsRefused(t *testing.T) {
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"
	own := func(t *testing.T, path string) {
		s := openAt(t, path)
		require.NoError(t, s.Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", []byte("v")))
		require.NoError(t, s.Close())
	}
	tests := map[string]struct {
		made bool
		sql  string
	}{
		"a trigger": {true,
			"CREATE TRIGGER t AFTER INSERT ON entries BEGIN UPDATE entries SET value = (" + endless + "); END"},
		"a view in its place": {false,
			"CREATE VIEW entries AS SELECT 'a' AS source, 'session' AS scope, 's' AS session, 'k' AS key, (" + endless +
				") AS value, 0 AS changed"},
		"an index":         {true, "CREATE INDEX i ON entries(hex(value))"},
		"a view beside it": {true, "CREATE VIEW v AS " + endless},
		"another table": {false,
			"CREATE TABLE entries (source, scope, session, key, value GENERATED ALWAYS AS (hex(zeroblob(100000000))), changed)"},
		"a virtual table":        {true, "CREATE VIRTUAL TABLE v USING fts5(a)"},
		"another one of version": {false, "CREATE TABLE x (a); PRAGMA user_version = 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			if tt.made {
				own(t, path)
			}
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			_, err = db.Exec(tt.sql)
			require.NoError(t, err)
			require.NoError(t, db.Close())

			s := openAt(t, path)
			scope := s.Scope("a", tool.SessionScope, "s")
			_, _, err = scope.Get(t.Context(), "k")
			requireError(t, err, tool.Blocked, "not one that toolhost made")
			_, err = scope.Keys(t.Context(), "")
			requireError(t, err, tool.Blocked, "not one that toolhost made")
			requireError(t, scope.Set(t.Context(), "k", nil), tool.Blocked, "not one that toolhost made")
			requireError(t, s.EndSession(t.Context(), "s"), tool.Blocked, "not one that toolhost made")
		})
	}
	t.Run("put in while it is open", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		s := openAt(t, path)
		scope := s.Scope("a", tool.SessionScope, "s")
		require.NoError(t, scope.Set(t.Context(), "k", []byte("v")))
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec("CREATE TRIGGER t AFTER UPDATE ON entries BEGIN SELECT 1; END")
		require.NoError(t, err)
		require.NoError(t, db.Close())
		requireError(t, scope.Set(t.Context(), "k", []byte("w")), tool.Blocked, "trigger")
	})
	t.Run("a table that nothing uses", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec("CREATE TABLE t (a UNIQUE)")
		require.NoError(t, err)
		require.NoError(t, db.Close())
		own(t, path)
	})
}

func TestAPipeInItsPlaceIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	if exec.Command("mkfifo", path).Run() != nil {
		testneed.Missing(t, "there is no mkfifo here")
	}
	err := openAt(t, path).Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil)
	requireError(t, err, tool.Blocked, "pipe")
}
