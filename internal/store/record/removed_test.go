package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
)

// A record removed or replaced while in use is missed at the next entry and at those that follow; the next
// process begins a new one.
func TestRemovedRecord(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"moved":   func(dir string) error { return os.Rename(dir, dir+".old") },
		"replaced": func(dir string) error {
			return os.Rename(filepath.Join(dir, "lock"), filepath.Join(dir, "lock.old"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			set := func(o *record.Options) { o.Root, o.Copy = root, false }
			r := recorder(t, set)
			callOf(t, r, "s", "a", "")
			require.NoError(t, remove(filepath.Join(stateOf(root), "record")))
			for range 2 {
				err := r.Event(t.Context(), "s", "tool_call_started", started{"b", "read_file", nil})
				assert.ErrorContains(t, err, "it was removed or replaced while it was in use")
			}
			next := recorder(t, set)
			callOf(t, next, "s", "c", "")
		})
	}
}

// Two processes write by turns, and each begins segments that the other has to find.
func TestWritersBeginSegments(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	set := func(o *record.Options) {
		o.Root, o.Copy, o.Now = root, false, func() time.Time { return now }
		o.Keep = record.Limits{Age: 365 * 24 * time.Hour}
	}
	writers := []*record.Recorder{recorder(t, set), recorder(t, set)}
	for i := range 40 {
		callOf(t, writers[i/2%2], "s", fmt.Sprint("call-", i), "")
		if i%4 != 2 {
			now = now.Add(25 * time.Hour)
		}
	}
	calls, err := writers[0].Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	require.Len(t, calls, 40)
	for i, c := range calls {
		assert.Equal(t, fmt.Sprint("call-", i), c.Request)
	}
}

// A call that spans segments is one call, and what a summary excludes is not read.
func TestCallsThroughSegments(t *testing.T) {
	now := time.Now()
	r := recorder(t, func(o *record.Options) { o.Now, o.Copy = func() time.Time { return now }, false })
	day := func() { now = now.Add(25 * time.Hour) } // the next segment
	begin := func(id, tool string) {
		require.NoError(t, r.Event(t.Context(), "s", "tool_call_started", started{id, tool, nil}))
	}
	end := func(id, tool, code string, files ...string) {
		f := finished{RequestID: id, Tool: tool, Status: "error", Error: code, Files: files}
		if code == "" {
			f.Status = "success"
		}
		require.NoError(t, r.Event(t.Context(), "s", "tool_call_finished", f))
	}
	begin("long", "build")
	callOf(t, r, "s", "short", "")
	day()
	begin("other", "build")
	end("other", "build", "")
	day()
	end("long", "build", "timeout", "out/x")
	begin("open", "test")
	day()
	callOf(t, r, "late", "last", "")
	for name, c := range map[string]struct {
		filter record.Filter
		want   []string
	}{
		"all":         {record.Filter{}, []string{"long timeout", "short success", "other success", "open running", "last success"}},
		"last":        {record.Filter{Last: 2}, []string{"open running", "last success"}},
		"tool":        {record.Filter{Tool: "build"}, []string{"long timeout", "other success"}},
		"last tool":   {record.Filter{Tool: "build", Last: 1}, []string{"other success"}},
		"status":      {record.Filter{Status: "timeout"}, []string{"long timeout"}},
		"error":       {record.Filter{Status: "error"}, []string{"long timeout"}},
		"running":     {record.Filter{Status: record.StatusRunning}, []string{"open running"}},
		"path":        {record.Filter{Path: "out"}, []string{"long timeout"}},
		"also":        {record.Filter{Path: "y", Also: []record.CallName{{Session: "s", Request: "other"}}}, []string{"other success"}},
		"session":     {record.Filter{Session: "late"}, []string{"last success"}},
		"since":       {record.Filter{Since: now.Add(-time.Second)}, []string{"last success"}},
		"until":       {record.Filter{Until: now.Add(-60 * time.Hour)}, []string{"long timeout", "short success"}},
		"lost":        {record.Filter{Status: record.StatusLost}, nil},
		"nothing":     {record.Filter{Tool: "none"}, nil},
		"two filters": {record.Filter{Tool: "build", Status: "success"}, []string{"other success"}},
	} {
		for range 2 { // the second time with the summaries of the first
			calls, err := r.Calls(t.Context(), c.filter)
			require.NoError(t, err)
			var got []string
			for _, call := range calls {
				got = append(got, call.Request+" "+call.Status)
			}
			assert.Equal(t, c.want, got, name)
		}
	}
	var lines []string
	for event, err := range r.Events(t.Context(), record.Filter{Tool: "build"}, false) {
		require.NoError(t, err)
		lines = append(lines, event.Name)
	}
	assert.Equal(t, []string{"tool_call_started", "tool_call_started", "tool_call_finished", "tool_call_finished"}, lines)
	d, err := r.Show(t.Context(), record.Filter{Request: "long"})
	require.NoError(t, err)
	assert.Len(t, d.Events, 2)
	sessions, err := r.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, sessions, 2)
	assert.Equal(t, "late", sessions[1].Name)
}
