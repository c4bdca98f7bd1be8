package record_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
)

// started and finished are the events of a call, as from the host.
type started struct {
	RequestID string         `json:"request_id"`
	Tool      string         `json:"tool"`
	Params    map[string]any `json:"-"`
}

func (s started) Kept() (call string, event, more any, name string, content any) {
	return s.RequestID, s, map[string]string{"client": "a test"}, "params", s.Params
}

type finished struct {
	RequestID string   `json:"request_id"`
	Tool      string   `json:"tool"`
	Status    string   `json:"status"`
	Error     string   `json:"error,omitempty"`
	Files     []string `json:"files_affected,omitempty"`
	Result    string   `json:"-"`
}

func (f finished) Kept() (call string, event, more any, name string, content any) {
	return f.RequestID, f, nil, "result", map[string]string{"text": f.Result}
}

func callOf(t testing.TB, r *record.Recorder, session, id, result string) {
	t.Helper()
	require.NoError(t, r.Event(t.Context(), session, "tool_call_started",
		started{id, "read_file", map[string]any{"path": id}}))
	require.NoError(t, r.Event(t.Context(), session, "tool_call_finished",
		finished{RequestID: id, Tool: "read_file", Status: "success", Files: []string{"f/" + id}, Result: result}))
}

// The bound of the record holds while it is written: the oldest is dropped, the log says so, and the rest is
// there.
func TestTheBoundHoldsWhileItIsWritten(t *testing.T) {
	const most = 4 << 20
	r := recorder(t, func(o *record.Options) { o.Keep, o.Copy = record.Limits{Bytes: most}, false })
	for i := range 1500 {
		callOf(t, r, "s", fmt.Sprint(i), fmt.Sprint(i)+strings.Repeat("0123456789", 350))
		if i%100 == 0 {
			calls, err := r.Calls(t.Context(), record.Filter{Last: 1})
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), calls[0].Request)
			assert.LessOrEqual(t, r.LogSize(), int64(most), "after %d", i)
		}
	}
	calls, err := r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	assert.NotEmpty(t, calls)
	assert.Equal(t, "1499", calls[len(calls)-1].Request)
	assert.NotEqual(t, "0", calls[0].Request)
}

// What is older than the age is dropped too, in whole segments.
func TestPruneByAge(t *testing.T) {
	now, dir := time.Now(), t.TempDir()
	r := recorder(t, func(o *record.Options) { o.State, o.Now = dir, func() time.Time { return now } })
	callOf(t, r, "old", "a", strings.Repeat("large ", 2000))
	now = now.Add(40 * 24 * time.Hour)
	_, err := r.Prune(record.Limits{})
	require.NoError(t, err)
	calls, err := r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	assert.Empty(t, calls)
	callOf(t, r, "new", "b", "")
	left, err := filepath.Glob(filepath.Join(dir, "record", "00000001*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	sessions, err := r.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	assert.Equal(t, "new", sessions[0].Name)
}
