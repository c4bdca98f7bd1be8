package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/approval"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/state"
	"github.com/toolhost/toolhost/internal/store/userdir"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestMakeManyWaiting makes TOOLHOST_MAKE_WAITING calls wait, the most allowed in each workspace of
// TOOLHOST_MAKE_ROOT, for tests of readers. Call 0 is the newest.
func TestMakeManyWaiting(t *testing.T) {
	calls, err := strconv.Atoi(testneed.Child(t, "TOOLHOST_MAKE_WAITING", "TestInboxOfManyCalls"))
	require.NoError(t, err)
	parent, err := filepath.EvalSymlinks(os.Getenv("TOOLHOST_MAKE_ROOT"))
	require.NoError(t, err)
	now := time.Now().UTC().Truncate(time.Second)
	for first := 0; first < calls; first += approval.MaxPending {
		name := fmt.Sprintf("w%03d", first/approval.MaxPending)
		t.Run(name, func(t *testing.T) {
			t.Parallel() // waits for the disk
			makeWaiting(t, filepath.Join(parent, name), now, first, min(calls, first+approval.MaxPending))
		})
	}
}

// makeWaiting makes the calls from first to end wait in a workspace.
func makeWaiting(t *testing.T, root string, now time.Time, first, end int) {
	approvals, err := approval.Dir()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(root, 0o700))
	agent := "policy {\n  rule \"edits\" {\n    tool = \"*_file\"\n    action = \"ask\"\n  }\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "agent.hcl"), []byte(agent), 0o600))
	dir, err := userdir.State(root)
	require.NoError(t, err)
	r, err := record.New(record.Options{Root: root, State: dir, Workspace: root})
	require.NoError(t, err)
	require.NoError(t, r.Event(t.Context(), "s", "session_started", map[string]string{}))
	require.NoError(t, r.Close())
	kept, err := state.Open(dir)
	require.NoError(t, err)
	defer kept.Close()
	scope := kept.Directory(approval.StateDir)
	for i := first; i < end; i++ {
		p := approval.Pending{ID: fmt.Sprintf("%08d", i), Root: root, Reason: "It is many.",
			Asked: now.Add(-time.Duration(i) * time.Second), Expires: now.Add(approval.PendingTime),
			Call: approval.Call{Tool: "write_file", Params: tool.MustMarshal(map[string]string{
				"path": fmt.Sprintf("f%05d.txt", i), "content": "new\n"})}}
		require.NoError(t, scope.Set(t.Context(), p.ID, tool.MustMarshal(p)))
	}
	store, err := approval.Open(scope, approvals, root)
	require.NoError(t, err)
	waiting, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, waiting, end-first)
}

// News of many calls comes at once, in lines of bounded size.
func TestNewsInParts(t *testing.T) {
	for _, calls := range []int{0, 1, mostNews, mostNews + 1, 10_000} {
		parts := inboxNews{Add: make([]waitingCall, calls), Gone: []string{"x"}, Ready: true}.parts()
		sum := 0
		for i, part := range parts {
			sum += len(part.Add)
			assert.LessOrEqual(t, len(part.Add), mostNews)
			assert.Equal(t, i < len(parts)-1, part.More)
			assert.Equal(t, i == len(parts)-1, len(part.Gone) == 1, "what is gone is said once")
		}
		assert.Equal(t, calls, sum)
	}
}
