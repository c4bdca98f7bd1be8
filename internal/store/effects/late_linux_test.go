package effects

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// Changes by a process that outlives its call can be undone; other changes after a call's end belong to the
// process that made them. Neither leaves anything open.
func TestChangesAfterTheEndOfACall(t *testing.T) {
	for name, outlives := range map[string]bool{"a process that outlives it": true, "a plugin's process": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, "f")
			require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
			store, err := undo.Open(t.TempDir(), undo.Options{})
			require.NoError(t, err)
			open := testproc.OpenFiles(t)
			trees := Trees{Root: root}
			call := New(store, undo.Call{Session: "s", ID: "one"}, trees)
			call.patience = time.Millisecond
			var calls Calls
			life := NewLifetime(&calls, store, undo.Call{Session: "s", ID: "plugin"}, trees)
			watcher := watch.Watcher(call)
			var ended func()
			if outlives {
				ended = call.Begin()
			} else {
				watcher, ended = life, life.Begin()
				leave := calls.Enter(call)
				defer leave()
			}
			call.End()
			dir, err := os.Open(root)
			require.NoError(t, err)
			defer dir.Close()
			require.True(t, watcher.Wants(file, watch.Content))
			watcher.Before(watch.Place{Path: file, Dir: int(dir.Fd()), Name: "f"}, watch.Content)
			require.NoError(t, os.WriteFile(file, []byte("new"), 0o600))
			ended()
			dir.Close()
			require.Eventually(t, func() bool { return testproc.OpenFiles(t) == open }, 10*time.Second, time.Millisecond)
			ws, err := workspace.Open(root, workspace.Options{})
			require.NoError(t, err)
			defer ws.Close()
			_, err = store.Undo(t.Context(), ws, undo.Selection{})
			require.NoError(t, err)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, "old", string(data))
		})
	}
}
