package console

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
)

// A plugin's process is a span from its start to its end, in the session that started it.
func TestPluginSpans(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	recorder, err := record.New(record.Options{Root: t.TempDir(), State: t.TempDir(),
		Now: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { recorder.Close() })
	began := now
	for _, e := range []struct {
		session, event, plugin string
		more                   map[string]any
	}{
		{"one", "plugin_started", "a", map[string]any{"pid": os.Getpid(), "took_ms": 200, "request_id": "7"}},
		{"one", "plugin_started", "b", map[string]any{"pid": os.Getpid()}},
		{"two", "plugin_started", "a", map[string]any{"pid": os.Getpid()}},
		{"one", "plugin_crashed", "a", nil},
		{"one", "plugin_started", "a", map[string]any{"pid": os.Getpid()}},
		{"one", "plugin_unresponsive", "b", nil},
		{"two", "session_ended", "", nil},
		{"three", "plugin_start_failed", "<c>", nil},
		{"three", "plugin_stopped", "never started", nil},
	} {
		now = now.Add(time.Second)
		if e.more == nil {
			e.more = map[string]any{}
		}
		e.more["plugin"] = e.plugin
		require.NoError(t, recorder.Event(t.Context(), e.session, e.event, e.more))
	}
	spans, err := pluginSpans(t.Context(), &space{id: "s", recorder: recorder}, "")
	require.NoError(t, err)
	at := func(second float64) int64 { return began.Add(time.Duration(second * float64(time.Second))).UnixMicro() }
	assert.Equal(t, []span{
		{"s", "one", "plugin", "a", "crashed", "7", at(.8), at(4)},
		{"s", "one", "plugin", "b", "unresponsive", "", at(2), at(6)},
		{"s", "two", "plugin", "a", "ended", "", at(3), at(7)},
		{"s", "one", "plugin", "a", "running", "", at(5), 0},
		{"s", "three", "plugin", "<c>", "failed", "", at(8), at(8)},
	}, spans)
	spans, err = pluginSpans(t.Context(), &space{id: "s", recorder: recorder}, "two")
	require.NoError(t, err)
	assert.Len(t, spans, 1)
}
