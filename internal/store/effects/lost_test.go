package effects_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// What a file tool destroys and is not kept is reported at the end of the call, and by the list of calls.
func TestWhatFileToolsLose(t *testing.T) {
	for name, change := range map[string]func(context.Context, *workspace.Workspace) error{
		"remove": func(_ context.Context, ws *workspace.Workspace) error { return ws.Remove("big") },
		"write": func(_ context.Context, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("big", []byte("1"), workspace.WriteOptions{})
			return err
		},
		"batch": func(ctx context.Context, ws *workspace.Workspace) error {
			return ws.Batch(ctx, []workspace.Change{{Kind: workspace.Create, Path: "new", Data: []byte("1")},
				{Kind: workspace.Delete, Path: "big"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(root, "big"), []byte("too large"), 0o600))
			store, err := undo.Open(t.TempDir(), undo.Options{MaxFile: 8})
			require.NoError(t, err)
			ws, err := workspace.Open(root, workspace.Options{Recorder: store.Recorder("", "", 0)})
			require.NoError(t, err)
			defer ws.Close()
			own := undo.Call{Session: "s", ID: "c1"}
			watching := effects.New(store, own, effects.Trees{Root: root})
			ctx := effects.With(undo.WithCall(t.Context(), own), watching)
			ctx, view := undo.ForCall(ctx, ws, &tool.Call{Session: "s", RequestID: "c1"})
			require.NoError(t, change(ctx, view))

			const said = "Not kept for undo: big (it had 9 bytes, and at most 8 are kept)."
			assert.Equal(t, said, watching.End().Note())
			calls, err := store.Calls(t.Context(), undo.Filter{})
			require.NoError(t, err)
			require.Len(t, calls, 1)
			assert.Equal(t, said, calls[0].NotKept)
		})
	}
}

// Many files that are lost for one reason are named together.
func TestNoteOfManyLostFiles(t *testing.T) {
	lost := map[string]string{"huge": "it had more than 32 MiB"}
	for i := range 50 {
		lost[fmt.Sprintf("big/%d", i)] = "the call changed more than 96 MiB"
	}
	assert.Equal(t, "Not kept for undo: huge (it had more than 32 MiB), big/ (50) (the call changed more than 96 MiB).",
		(&effects.Report{Lost: lost}).Note())
}
