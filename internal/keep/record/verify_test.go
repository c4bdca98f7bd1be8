package record_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/testneed"
)

// started and finished are the events of a call, as the host gives them.
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

// callOf records a whole call.
func callOf(t testing.TB, r *record.Recorder, session, id, result string) {
	t.Helper()
	require.NoError(t, r.Event(t.Context(), session, "tool_call_started",
		started{id, "read_file", map[string]any{"path": id}}))
	require.NoError(t, r.Event(t.Context(), session, "tool_call_finished",
		finished{RequestID: id, Tool: "read_file", Status: "success", Files: []string{"f/" + id}, Result: result}))
}

func verified(t testing.TB, r *record.Recorder) *record.Verified {
	t.Helper()
	v, err := r.Verify(t.Context(), "")
	require.NoError(t, err)
	return v
}

// threeCalls makes a record of three calls, the second with a large result, and
// gives the recorder's options.
func threeCalls(t *testing.T) record.Options {
	o := record.Options{Root: t.TempDir()}
	o.State = stateOf(o.Root)
	r, err := record.New(o)
	require.NoError(t, err)
	callOf(t, r, "one", "a", "small")
	callOf(t, r, "two", "b", strings.Repeat("large ", 2000))
	callOf(t, r, "one", "c", "")
	_, err = r.Calls(t.Context(), record.Filter{}) // makes the index
	require.NoError(t, err)
	require.Empty(t, verified(t, r).Problems)
	require.NoError(t, r.Close())
	return o
}

// A byte that is changed anywhere in the log, in what it holds, or in the head
// is found.
func TestEveryChangedByteIsFound(t *testing.T) {
	testneed.NotShort(t, "changes every byte of a record")
	o := threeCalls(t)
	dir := filepath.Join(o.State, "record")
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs/*/*"))
	require.NoError(t, err)
	require.Len(t, blobs, 1)
	r, err := record.New(o)
	require.NoError(t, err)
	defer r.Close()
	for _, file := range []string{filepath.Join(dir, "log", "00000001.jsonl"), filepath.Join(dir, "head"), blobs[0]} {
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		for i := range whole {
			changed := bytes.Clone(whole)
			changed[i] ^= 1 << (i % 8)
			require.NoError(t, os.WriteFile(file, changed, 0o600))
			if len(verified(t, r).Problems) == 0 {
				t.Errorf("%s: a changed byte %d (%q) is not found", filepath.Base(file), i, whole[i])
			}
		}
		require.NoError(t, os.WriteFile(file, whole, 0o600))
		require.Empty(t, verified(t, r).Problems, "control")
	}
}

// Whole lines and files that are missing, twice there or in another order are
// found, and it is said where.
func TestMissingEntriesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(lines []string) []string
		where  string
	}{
		"first":     {func(l []string) []string { return l[1:] }, "00000001.jsonl:1"},
		"middle":    {func(l []string) []string { return append(l[:2:2], l[3:]...) }, "00000001.jsonl:3"},
		"last":      {func(l []string) []string { return l[:5] }, "00000001.jsonl"},
		"last call": {func(l []string) []string { return l[:4] }, "00000001.jsonl"},
		"order":     {func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, "00000001.jsonl:3"},
		"twice":     {func(l []string) []string { return append(l[:3:3], l[2:]...) }, "00000001.jsonl:4"},
		"foreign": {func(l []string) []string { return append(l[:3:3], append([]string{"{}\n"}, l[3:]...)...) },
			"00000001.jsonl:4"},
		"no newline": {func(l []string) []string { l[5] = strings.TrimSuffix(l[5], "\n"); return l },
			"00000001.jsonl:6"},
	} {
		t.Run(name, func(t *testing.T) {
			o := threeCalls(t)
			file := filepath.Join(o.State, "record", "log", "00000001.jsonl")
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
			lines[5] += "\n"
			require.Len(t, lines, 6)
			require.NoError(t, os.WriteFile(file, []byte(strings.Join(c.change(lines), "")), 0o600))
			r, err := record.New(o)
			require.NoError(t, err)
			defer r.Close()
			problems := verified(t, r).Problems
			require.NotEmpty(t, problems)
			assert.Equal(t, c.where, problems[0].Where, "%+v", problems)
			callOf(t, r, "one", "d", "") // which does not hide it
			assert.NotEmpty(t, verified(t, r).Problems)
		})
	}
	o := threeCalls(t)
	require.NoError(t, os.RemoveAll(filepath.Join(o.State, "record", "blobs")))
	r, err := record.New(o)
	require.NoError(t, err)
	defer r.Close()
	problems := verified(t, r).Problems
	require.Len(t, problems, 1)
	assert.Equal(t, "two", problems[0].Session)
	assert.Contains(t, problems[0].What, "missing")
	of, err := r.Verify(t.Context(), "one")
	require.NoError(t, err)
	assert.Empty(t, of.Problems, "the other session is whole")
}

// An index that says something else than the log is found, and one that is
// damaged is made anew.
func TestAForgedIndexIsFound(t *testing.T) {
	o := threeCalls(t)
	file := filepath.Join(o.State, "record", "index.db")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	at := bytes.Index(whole, []byte("read_filesuccess"))
	require.Positive(t, at, "control: the row of a call")
	forged := bytes.Clone(whole)
	copy(forged[at:], "rm_-r_alldenied!")
	require.NoError(t, os.WriteFile(file, forged, 0o600))
	r, err := record.New(o)
	require.NoError(t, err)
	defer r.Close()
	problems := verified(t, r).Problems
	require.Len(t, problems, 1)
	assert.Equal(t, "index.db", problems[0].Where)

	require.NoError(t, os.WriteFile(file, []byte("no database at all"), 0o600))
	calls, err := r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	assert.Len(t, calls, 3)
	assert.Empty(t, verified(t, r).Problems)
}

// The bound of the record holds while it is written: what is oldest goes, the
// log says so, and the rest verifies.
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
	v := verified(t, r)
	assert.Empty(t, v.Problems)
	assert.Greater(t, v.First, int64(1), "control: something was dropped")
	calls, err := r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	assert.NotEmpty(t, calls)
	assert.Equal(t, "1499", calls[len(calls)-1].Request)
	assert.NotEqual(t, "0", calls[0].Request)
}

// What is older than the age goes too, whole segments at a time.
func TestPruneByAge(t *testing.T) {
	now := time.Now()
	r := recorder(t, func(o *record.Options) { o.Now = func() time.Time { return now } })
	callOf(t, r, "old", "a", strings.Repeat("large ", 2000))
	now = now.Add(40 * 24 * time.Hour)
	_, err := r.Prune(record.Limits{})
	require.NoError(t, err)
	calls, err := r.Calls(t.Context(), record.Filter{})
	require.NoError(t, err)
	assert.Empty(t, calls)
	callOf(t, r, "new", "b", "")
	v := verified(t, r)
	assert.Empty(t, v.Problems)
	assert.Zero(t, v.Blobs)
	sessions, err := r.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	assert.Equal(t, "new", sessions[0].Name)
}
