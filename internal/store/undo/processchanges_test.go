package undo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// process is a call whose processes change a file.
type process struct {
	f       *fixture
	effects *undo.Effects
	id      string
}

func (f *fixture) begin(call string) *process {
	f.Helper()
	p := &process{f: f, effects: f.store.Effects(undo.Call{Session: "s", ID: call})}
	id, err := p.effects.Before("a.txt", f.holds())
	require.NoError(f, err)
	p.id = id
	return p
}

func (f *fixture) holds() undo.State { return f.state("a.txt") }

func (f *fixture) state(path string) undo.State {
	data, err := os.ReadFile(filepath.Join(f.dir, path))
	require.NoError(f, err)
	return undo.State{Exists: true, Mode: 0o644, Size: int64(len(data)), Content: data, Hash: workspace.Hash(data)}
}

func (p *process) end() {
	p.f.Helper()
	require.NoError(p.f, p.effects.After(map[string]undo.State{p.id: p.f.holds()}, nil))
	p.effects.Close()
}

// Two calls change one file at once: neither is undone without the other.
func TestCallsAtOnce(t *testing.T) {
	for name, endsFirst := range map[string]bool{"the first ends first": true, "the second ends first": false} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, undo.Options{})
			f.plant("a.txt", "0")
			one := f.begin("one")
			f.plant("a.txt", "1")
			two := f.begin("two")
			f.plant("a.txt", "12")
			if !endsFirst {
				one, two = two, one
			}
			one.end()
			two.end()
			for _, call := range []string{"one", "two"} {
				e := f.refused(tool.Conflict, undo.Selection{Session: "s", Call: call})
				assert.Contains(t, e.Message, "at the same time")
				assert.Equal(t, "12", f.content("a.txt"))
			}
			f.plant("a.txt", "12 and an editor")
			f.refused(tool.Conflict, undo.Selection{Session: "s", All: true})
			f.plant("a.txt", "12")
			f.undo(undo.Selection{Session: "s", All: true})
			assert.Equal(t, "0", f.content("a.txt"))
		})
	}
}

// What a tool writes while a command runs on the same file is not lost.
func TestEditDuringACall(t *testing.T) {
	f := newFixture(t, undo.Options{})
	f.plant("a.txt", "0")
	one := f.begin("one")
	f.write("edit", "a.txt", "edited")
	f.plant("a.txt", "edited and changed")
	one.end()
	e := f.refused(tool.Conflict, undo.Selection{Session: "s", Call: "one"})
	assert.Contains(t, e.Message, "by the call edit at the same time")
	f.undo(undo.Selection{Session: "s", Call: "one", Ours: true})
	assert.Equal(t, "0", f.content("a.txt"))
}

// A call whose end toolhost did not see is undone if its files are as it found them, or if a person requests
// it.
func TestCallCutOff(t *testing.T) {
	f := newFixture(t, undo.Options{})
	f.plant("a.txt", "0")
	f.begin("one")
	f.plant("a.txt", "1, or somebody's")
	e := f.refused(tool.Conflict, undo.Selection{Session: "s", Call: "one"})
	assert.Contains(t, e.Message, "its call was cut off")
	assert.Equal(t, "1, or somebody's", f.content("a.txt"))
	f.undo(undo.Selection{Session: "s", Call: "one", Ours: true})
	assert.Equal(t, "0", f.content("a.txt"))
	f.undo(undo.Selection{Redo: true})
	assert.Equal(t, "1, or somebody's", f.content("a.txt"))
}

// What a call changes after an undo of it can be undone too. What it leaves as the undo did is undone already.
func TestUndoWhileACallRuns(t *testing.T) {
	for name, late := range map[string]string{"changed since": "late", "left": "0"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, undo.Options{})
			f.plant("a.txt", "0")
			one := f.begin("one")
			f.plant("a.txt", "1")
			f.undo(undo.Selection{Session: "s", Call: "one", Ours: true})
			assert.Equal(t, "0", f.content("a.txt"))
			f.plant("a.txt", late)
			one.end()
			if late == "0" {
				f.refused(tool.NotFound, undo.Selection{})
				return
			}
			f.undo(undo.Selection{})
			assert.Equal(t, "0", f.content("a.txt"))
			f.undo(undo.Selection{Redo: true})
			assert.Equal(t, late, f.content("a.txt"))
		})
	}
}

// The recorder of a shell session between calls begins before that of the call ends: it is the younger one.
func TestUndoOfASessionsCall(t *testing.T) {
	f := newFixture(t, undo.Options{})
	f.plant("a.txt", "0")
	call := f.begin("one")
	f.plant("a.txt", "1")
	between := f.begin("one")
	defer between.effects.Close()
	call.end()
	f.undo(undo.Selection{Session: "s", Call: "one", Ours: true})
	assert.Equal(t, "0", f.content("a.txt"))
}
