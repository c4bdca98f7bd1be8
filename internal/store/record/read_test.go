package record_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func read(t *testing.T, r *record.Recorder, f record.Filter) []record.Event {
	t.Helper()
	f.Session = "s"
	var events []record.Event
	for event, err := range r.Events(t.Context(), f, false) {
		require.NoError(t, err)
		events = append(events, event)
	}
	return events
}

func names(events []record.Event) []string {
	names := []string{}
	for _, e := range events {
		names = append(names, e.Name)
	}
	return names
}

func TestReadBack(t *testing.T) {
	r := recorder(t)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, r.Event(t.Context(), "s", name, nil))
	}
	events := read(t, r, record.Filter{})
	assert.Equal(t, []string{"a", "b", "c"}, names(events))
	assert.Equal(t, time.Date(2026, 5, 4, 2, 2, 1, 123456000, time.UTC), events[0].Time)
	assert.JSONEq(t, `{"event":"a","timestamp":"2026-05-04T02:02:01.123456Z"}`, string(events[0].Line))
	assert.Equal(t, []string{"b", "c"}, names(read(t, r, record.Filter{Last: 2})))
}

func TestReadNoRecord(t *testing.T) {
	r := recorder(t)
	assert.Equal(t, tool.NotFound, tool.CodeOf(r.HasSession(t.Context(), "s")))
	assert.Empty(t, read(t, r, record.Filter{}))
	assert.NoDirExists(t,
		filepath.Join(stateOf(filepath.Dir(filepath.Dir(filepath.Dir(r.ArtifactDir("s"))))), "record"),
		"reading makes nothing")
}

// Torn and foreign lines are skipped.
func TestReadDamagedLines(t *testing.T) {
	root := t.TempDir()
	r := recorder(t, func(o *record.Options) { o.Root = root })
	require.NoError(t, r.Event(t.Context(), "s", "a", nil))
	file, err := os.OpenFile(filepath.Join(stateOf(root), "record", "00000001.jsonl"), os.O_WRONLY|os.O_APPEND,
		0)
	require.NoError(t, err)
	_, err = file.WriteString("{\"event\":\"torn\n\n[1]\n{\"x\":1}\n\xff\n")
	require.NoError(t, err)
	require.NoError(t, r.Event(t.Context(), "s", "b", nil))
	_, err = file.WriteString(`{"event":"unfinished"`)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Equal(t, []string{"a", "b"}, names(read(t, r, record.Filter{})))
	require.NoError(t, r.Event(t.Context(), "s", "c", nil))
	assert.Equal(t, []string{"a", "b", "c"}, names(read(t, r, record.Filter{})))
}

// A follower sees old and new entries, through the beginning of segments, and begins before there is a record.
func TestFollow(t *testing.T) {
	root := t.TempDir()
	set := func(o *record.Options) { o.Root, o.Keep = root, record.Limits{Bytes: 1} }
	writer, reader := recorder(t, set), recorder(t, set)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	got := make(chan record.Event, 100)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for event, err := range reader.Events(ctx, record.Filter{Session: "s"}, true) {
			if err != nil {
				done <- err
				return
			}
			got <- event
		}
	}()
	want := []string{}
	for i := range 12 {
		name := string(rune('a' + i))
		require.NoError(t, writer.Event(ctx, "s", name, map[string]string{"pad": strings.Repeat("0123456789", 2000)}))
		want = append(want, name)
		event := testproc.Receive(t, got)
		assert.Equal(t, name, event.Name)
	}
	require.Len(t, want, 12)
	cancel()
	assert.NoError(t, testproc.Receive(t, done))
}
