package record

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

// The last ones of a session or a time are read from the index in order, in
// place of a look at all that there is.
func TestFiltersAreReadFromTheIndex(t *testing.T) {
	r, err := New(Options{Root: t.TempDir(), State: t.TempDir()})
	require.NoError(t, err)
	defer r.Close()
	for i := range 100 {
		require.NoError(t, r.Event(t.Context(), fmt.Sprint("s", i%3), startedEvent,
			map[string]any{"request_id": fmt.Sprint(i), "tool": "t"}))
	}
	db, err := r.openRead(t.Context())
	require.NoError(t, err)
	defer db.Close()
	now := time.Now()
	for name, f := range map[string]Filter{
		"session":          {Session: "s1", Last: 5},
		"since":            {Since: now.Add(-time.Hour), Last: 5},
		"until":            {Until: now.Add(time.Hour), Last: 5},
		"session and time": {Session: "s1", Since: now.Add(-time.Hour), Until: now.Add(time.Hour), Last: 5},
		"no such session":  {Session: "x", Last: 5},
	} {
		filter, err := r.filtered(t.Context(), db, &f)
		require.NoError(t, err)
		require.True(t, filter.byTime(), name)
		for at, query := range map[string]string{
			"c.began": "SELECT c.n FROM calls c WHERE %s ORDER BY c.began DESC, c.n DESC LIMIT 5",
			"e.at":    "SELECT e.n FROM entries e WHERE +e.n > 0 AND %s ORDER BY e.at DESC, e.n DESC LIMIT 5",
		} {
			where, args := filter.where(at, false)
			rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+fmt.Sprintf(query, where), args...)
			require.NoError(t, err)
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var detail string
				require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
				plan = append(plan, detail)
			}
			require.NoError(t, rows.Err())
			all := strings.Join(plan, "; ")
			assert.Contains(t, all, "SEARCH", name)
			assert.NotContains(t, all, "TEMP B-TREE", name)
		}
		calls, err := r.Calls(t.Context(), f)
		require.NoError(t, err)
		if name == "no such session" {
			assert.Empty(t, calls)
			continue
		}
		require.Len(t, calls, 5, name)
		want := map[bool]string{true: "97", false: "99"}[f.Session != ""]
		assert.Equal(t, want, calls[4].Request, name)
		var events []string
		for event, err := range r.Events(t.Context(), f, false) {
			require.NoError(t, err)
			events = append(events, string(event.Line))
		}
		require.Len(t, events, 5, name)
		assert.Contains(t, events[4], `"request_id":"`+want+`"`, name)
	}
}

// A process that writes much brings the index up to date by itself.
func TestWritersIndex(t *testing.T) {
	testneed.NotShort(t, "starts writers that are killed")
	r, err := New(Options{Root: t.TempDir(), State: t.TempDir()})
	require.NoError(t, err)
	defer r.Close()
	for i := range indexEvery {
		require.NoError(t, r.Event(t.Context(), "s", startedEvent, map[string]any{"request_id": fmt.Sprint(i)}))
	}
	require.Eventually(t, func() bool {
		db, err := r.log.openIndex(t.Context(), r.log.path(indexFile))
		if err != nil {
			return false
		}
		defer db.Close()
		var n int
		return db.QueryRowContext(t.Context(), "SELECT n FROM place").Scan(&n) == nil && n == indexEvery
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, r.Close())
	_, err = os.Stat(r.log.path(indexFile))
	assert.NoError(t, err)
}
