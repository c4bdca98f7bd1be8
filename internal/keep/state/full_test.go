package state

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

// A full disk is played by SQLite's own limit of pages, which fails the same
// way: the change is refused whole and the old value stays.
func TestFullDisk(t *testing.T) {
	ctx := t.Context()
	store, err := Open(filepath.Join(t.TempDir(), "state.db"))
	require.NoError(t, err)
	defer store.Close()
	s := store.Scope("a", tool.SessionScope, "s")
	require.NoError(t, s.Set(ctx, "k", []byte("old")))

	var pages int
	store.db.SetMaxOpenConns(1)
	require.NoError(t, store.db.QueryRow("PRAGMA page_count").Scan(&pages))
	_, err = store.db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	require.NoError(t, err)

	err = s.Set(ctx, "k", make([]byte, 1<<20))
	var failure *tool.Error
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, tool.Unavailable, failure.Code)
	assert.Contains(t, failure.Message, "no space left")
	value, _, err := s.Get(ctx, "k")
	require.NoError(t, err)
	assert.Equal(t, "old", string(value))
}
