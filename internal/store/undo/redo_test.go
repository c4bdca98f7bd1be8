package undo_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Redo of a standing call changes nothing, and what an undo of a redo takes back is undone again.
func TestRedoOfWhatStands(t *testing.T) {
	f := newFixture(t, undo.Options{})
	f.write("c1", "a", "tool")
	assert.Contains(t, f.refused(tool.NotFound, undo.Selection{Redo: true}).Message, "nothing to redo")
	f.undo(undo.Selection{Session: "s", Call: "c1"})
	again := undo.Selection{Session: "s", Call: "c1", Redo: true}
	redone := f.undo(again)
	assert.Equal(t, "tool", f.content("a"))

	f.refused(tool.NoChange, again)
	assert.Equal(t, "tool", f.content("a"))

	f.undo(undo.Selection{Session: "s", Call: redone.Call})
	assert.NotContains(t, f.tree(), "tool")
	f.refused(tool.NoChange, undo.Selection{Session: "s", Call: "c1"})
	calls, err := f.store.Calls(t.Context(), undo.Filter{Session: "s", Call: "c1"})
	require.NoError(t, err)
	assert.NotEmpty(t, calls[0].UndoneBy)
}
