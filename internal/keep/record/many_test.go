package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/keep/userdir"
	"github.com/toolhost/toolhost/internal/testneed"
)

// TestMakeManyCalls writes as many calls as TOOLHOST_MAKE_CALLS says into the record
// of the workspace TOOLHOST_MAKE_ROOT, for measurements of who reads it.
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
	_, err = r.Calls(t.Context(), record.Filter{Last: 1}) // makes the index
	require.NoError(t, err)
}
