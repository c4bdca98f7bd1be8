package undo_test

import (
	"strings"
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

// A call is undone when all of it is.
func TestACallUndoneInPart(t *testing.T) {
	f := newFixture(t, undo.Options{})
	f.write("c1", "a", "1")
	f.write("c1", "b", "1")
	undoneBy := func() string {
		calls, err := f.store.Calls(t.Context(), undo.Filter{Call: "c1"})
		require.NoError(t, err)
		require.Len(t, calls, 1)
		return calls[0].UndoneBy
	}
	f.undo(undo.Selection{Paths: []string{"a"}})
	assert.Empty(t, undoneBy())
	rest := f.undo(undo.Selection{})
	assert.Equal(t, rest.Call, undoneBy())
	f.undo(undo.Selection{Call: rest.Call})
	assert.Empty(t, undoneBy())
}

// A call that was taken back has changed nothing: neither it nor that can be undone, but a later change of it can.
func TestTakeBack(t *testing.T) {
	f := newFixture(t, undo.Options{MaxFile: 100})
	f.plant("a", "0")
	before := f.tree()
	f.write("c1", "a", "1")
	f.write("c1", "large", strings.Repeat("l", 101))
	require.NoError(t, f.store.TakeBack(t.Context(), f.ws, undo.Call{Session: "s", ID: "c1"}))
	assert.Equal(t, before, f.tree())
	for _, sel := range []undo.Selection{{}, {Redo: true}, {Call: "c1"}, {Call: "c1", Redo: true}} {
		assert.Error(t, func() error { _, err := f.store.Plan(t.Context(), f.ws, sel); return err }(), "%+v", sel)
	}
	calls, err := f.store.Calls(t.Context(), undo.Filter{})
	require.NoError(t, err)
	assert.Empty(t, calls)
	f.write("c1", "a", "2")
	f.undo(undo.Selection{})
	assert.Equal(t, before, f.tree())
}
