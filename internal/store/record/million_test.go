package record_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A filter answers at once among a few thousand calls and where summaries help, and in seconds if each of a
// million calls (TOOLHOST_TEST_CALLS) must be examined.
func TestFiltersAreQuick(t *testing.T) {
	testneed.NotShort(t, "changes every byte of a record")
	calls, timed := 5000, false
	if n, err := strconv.Atoi(os.Getenv("TOOLHOST_TEST_CALLS")); err == nil {
		calls, timed = n, true
	}
	r := recorder(t, func(o *record.Options) { o.Copy, o.Keep = false, record.Limits{Bytes: 8 << 30} })
	for i := range calls {
		id, session := fmt.Sprint("call-", i), fmt.Sprint("s", i%50)
		f := finished{RequestID: id, Tool: fmt.Sprint("tool", i%20), Status: "success", Result: "fine"}
		if i%1000 == 999 {
			f.Status, f.Error, f.Files = "error", "denied", []string{"src/some/file.go"}
		}
		require.NoError(t, r.Event(t.Context(), session, "tool_call_started",
			started{id, f.Tool, map[string]any{"path": id}}))
		require.NoError(t, r.Event(t.Context(), session, "tool_call_finished", f))
	}
	_, err := r.Calls(t.Context(), record.Filter{Last: 1}) // makes the summaries
	require.NoError(t, err)
	rare := calls / 1000
	for _, c := range []struct {
		name   string
		filter record.Filter
		want   int
		all    bool // is examined
	}{
		{"request", record.Filter{Request: "call-4321"}, 1, true},
		{"status", record.Filter{Status: "denied"}, rare, true},
		{"no such status", record.Filter{Status: "timeout"}, 0, false},
		{"error", record.Filter{Status: "error", Last: 5}, min(5, rare), false},
		{"path", record.Filter{Path: "src/some"}, rare, true},
		{"tool and status", record.Filter{Tool: "tool19", Status: "denied"}, rare, true},
		{"session", record.Filter{Session: "s7", Last: 20}, 20, false},
		{"no such session", record.Filter{Session: "x"}, 0, false},
		{"time", record.Filter{Since: time.Now().Add(time.Hour)}, 0, false},
		{"last", record.Filter{Last: 20}, 20, false},
	} {
		most := 300 * time.Millisecond
		if c.all {
			most = max(most, time.Duration(calls)*10*time.Microsecond)
		}
		took := time.Hour
		for try := 0; try == 0 || timed && (try < 3 || took >= most && try < 100); try++ { // the best one counts
			began := time.Now()
			got, err := r.Calls(t.Context(), c.filter)
			took = min(took, time.Since(began))
			require.NoError(t, err, c.name)
			require.Len(t, got, c.want, c.name)
		}
		t.Logf("%d calls, by %s: %s", calls, c.name, took)
		if timed {
			assert.Less(t, took, most, c.name)
		}
	}
}
