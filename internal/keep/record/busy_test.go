package record_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver of the index

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/testneed"
)

// Who reads waits for others who update the index, and for longer than SQLite
// waits for a lock.
func TestReadersWaitForTheIndex(t *testing.T) {
	testneed.NotShort(t, "starts writers that are killed")
	root := t.TempDir()
	r := recorder(t, func(o *record.Options) { o.Root = root })
	callOf(t, r, "s", "first", "")
	_, err := r.Calls(t.Context(), record.Filter{}) // makes the index
	require.NoError(t, err)
	callOf(t, r, "s", "second", "")

	db, err := sql.Open("sqlite", "file:"+filepath.Join(stateOf(root), "record", "index.db")+"?_txlock=immediate")
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	began := time.Now()
	time.AfterFunc(1500*time.Millisecond, func() { assert.NoError(t, tx.Rollback()) })
	calls, err := r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	assert.Len(t, calls, 2)
	assert.Greater(t, time.Since(began), time.Second, "nobody had to wait")
}
