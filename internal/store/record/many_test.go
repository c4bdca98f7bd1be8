package record_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/userdir"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestMakeManyCalls writes TOOLHOST_MAKE_CALLS calls into the record of the workspace TOOLHOST_MAKE_ROOT, to
// measure readers.
func TestMakeManyCalls(t *testing.T) {
	calls, err := strconv.Atoi(testneed.Child(t, "TOOLHOST_MAKE_CALLS", "TestTimelineOfManyCalls"))
	require.NoError(t, err)
	root, err := filepath.EvalSymlinks(os.Getenv("TOOLHOST_MAKE_ROOT"))
	require.NoError(t, err)
	dir, err := userdir.State(root)
	require.NoError(t, err)
	r, err := record.New(record.Options{Root: root, State: dir, Workspace: root, Keep: record.Limits{Bytes: 8 << 30}})
	require.NoError(t, err)
	defer r.Close()
	for i := range calls {
		id, session := fmt.Sprint("call-", i), fmt.Sprint("s", i%8)
		f := finished{RequestID: id, Tool: fmt.Sprint("tool", i%20), Status: "success", Result: "fine"}
		if i%1000 == 999 {
			f.Status, f.Error = "error", "denied"
		}
		require.NoError(t, r.Event(t.Context(), session, "tool_call_started",
			started{id, f.Tool, map[string]any{"path": id}}))
		require.NoError(t, r.Event(t.Context(), session, "tool_call_finished", f))
	}
	_, err = r.Calls(t.Context(), record.Filter{Last: 1}) // makes the summaries
	require.NoError(t, err)
}

// huge is the end of a call with a result of the size that TOOLHOST_MAKE_HUGE requests.
type huge struct {
	finished
	content any
}

// Kept returns what the record keeps of it.
func (h huge) Kept() (call string, event, more any, name string, content any) {
	return h.RequestID, h.finished, nil, "result", h.content
}

// TestMakeHugeResults writes calls with huge results into the record of the workspace TOOLHOST_MAKE_ROOT: a
// text of 15 MB, TOOLHOST_MAKE_HUGE texts of 1 MB, deep JSON, and a wide object.
func TestMakeHugeResults(t *testing.T) {
	texts, err := strconv.Atoi(testneed.Child(t, "TOOLHOST_MAKE_HUGE", "TestHugeResults"))
	require.NoError(t, err)
	root, err := filepath.EvalSymlinks(os.Getenv("TOOLHOST_MAKE_ROOT"))
	require.NoError(t, err)
	dir, err := userdir.State(root)
	require.NoError(t, err)
	r, err := record.New(record.Options{Root: root, State: dir, Workspace: root, Keep: record.Limits{Bytes: 8 << 30}})
	require.NoError(t, err)
	defer r.Close()
	contents := func(texts ...string) any {
		var all []any
		for _, text := range texts {
			all = append(all, map[string]any{"type": "text", "text": text})
		}
		return map[string]any{"content": all}
	}
	numbered := func(bytes int) string {
		var b strings.Builder
		for n := 0; b.Len() < bytes; n++ {
			fmt.Fprintf(&b, "line %d of a long text\n", n)
		}
		return b.String()
	}
	many := make([]string, texts)
	for i := range many {
		many[i] = fmt.Sprintf("text %d\n", i) + strings.Repeat("x", 1<<20-16)
	}
	wide := map[string]any{}
	for i := range 200_000 {
		wide[fmt.Sprintf("name %06d", i)] = []int{i}
	}
	const depth = 2000
	for name, content := range map[string]any{
		"long":   contents(numbered(15_000_000)),
		"many":   contents(many...),
		"deep":   contents(strings.Repeat(`{"in":[`, depth) + "1" + strings.Repeat("]}", depth)),
		"deeper": json.RawMessage(strings.Repeat(`{"in":[`, depth) + "1" + strings.Repeat("]}", depth)),
		"wide":   wide,
	} {
		require.NoError(t, r.Event(t.Context(), "huge", "tool_call_started", started{name, name, map[string]any{}}))
		require.NoError(t, r.Event(t.Context(), "huge", "tool_call_finished",
			huge{finished{RequestID: name, Tool: name, Status: "success"}, content}))
	}
	_, err = r.Calls(t.Context(), record.Filter{Last: 1}) // makes the summaries
	require.NoError(t, err)
}
