package undo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestUndoOfManyChangesAtOnce changes more in one batch than goes into the journal in one write, with contents
// in it and beside it.
func TestUndoOfManyChangesAtOnce(t *testing.T) {
	testneed.NotShort(t, "undoes thousands of changes")
	for name, o := range map[string]undo.Options{
		"kept":           {},
		"as it can be":   {BestEffort: true},
		"pruned between": {MaxBytes: 32 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, o)
			var changes []workspace.Change
			for i := range 300 {
				content := strings.Repeat(fmt.Sprintln("old", i), 200)
				switch {
				case i%50 == 0:
					content = strings.Repeat(content, 400) // beside the journal
				case i%3 == 0:
					content = "the same"
				}
				path := fmt.Sprintf("d%d/%d", i%7, i)
				f.plant(path, content)
				change := workspace.Change{Kind: workspace.Replace, Path: path, Data: []byte("new"),
					Expect: workspace.Hash([]byte(content))}
				if i%5 == 0 {
					change.Kind, change.Data = workspace.Delete, nil
				}
				changes = append(changes, change, workspace.Change{Kind: workspace.Create,
					Path: path + ".new", Data: []byte("new")})
			}
			before := f.tree()
			require.NoError(t, f.ws.Batch(f.ctx("many"), changes))
			require.NotEqual(t, before, f.tree())
			f.undo(undo.Selection{Session: "s", Call: "many"})
			assert.Equal(t, before, f.tree())
		})
	}
}

// TestManyChangesThatCannotBeKept cannot keep what a batch replaces: nothing is changed, unless the operator
// allows it.
func TestManyChangesThatCannotBeKept(t *testing.T) {
	for name, c := range map[string]struct {
		bestEffort bool
		code       tool.Code
	}{"refused": {false, tool.Unavailable}, "as it can be": {true, ""}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, undo.Options{BestEffort: c.bestEffort})
			require.NoError(t, os.WriteFile(storeOf(f.dir), []byte("no directory"), 0o600))
			f.plant("a", "A")
			f.plant("b", "B")
			before := f.tree()
			err := f.ws.Batch(f.ctx("many"), []workspace.Change{
				{Kind: workspace.Replace, Path: "a", Data: []byte("new")}, {Kind: workspace.Delete, Path: "b"}})
			assert.Equal(t, c.bestEffort, before != f.tree())
			if c.bestEffort {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, c.code, tool.CodeOf(err), "%v", err)
			assert.ErrorContains(t, err, storeOf(f.dir))
		})
	}
}

// TestManyOfItsOwnFiles changes only toolhost's own files in a batch: the store is not even made.
func TestManyOfItsOwnFiles(t *testing.T) {
	f := newFixture(t, undo.Options{})
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, ".agent/cache"), 0o755))
	open, err := workspace.Open(f.dir, workspace.Options{Recorder: f.store.Recorder("", "", 0), Protect: []string{}})
	require.NoError(t, err)
	defer open.Close()
	require.NoError(t, open.Batch(context.Background(),
		[]workspace.Change{{Kind: workspace.Create, Path: ".agent/cache/x", Data: []byte("new")}}))
	assert.NoDirExists(t, storeOf(f.dir))
}

// Errors about many paths are as short as those about some.
func TestErrorsAboutManyPaths(t *testing.T) {
	held := func(path string) bool { return strings.HasPrefix(path, "held/") }
	f := newFixture(t, undo.Options{MaxFile: 1000, Held: held})
	var files []string
	for i := range 300 {
		files = append(files, fmt.Sprintf("%s/d%d/%d", []string{"hand", "lost", "held"}[i%3], i%31, i))
	}
	for i, path := range files {
		f.plant(path, strings.Repeat("x", 1+i%3%2*(1000+i)))
		f.write(path[:4], path, "new")
	}
	for i, path := range files {
		if i%3 == 0 {
			f.plant(path, "by hand")
		}
	}
	for call, want := range map[string]string{"hand": "hand/ (100) has changed since", "held": "it would restore held/ (100),",
		"lost": "and 80 more was not kept"} {
		code := map[string]tool.Code{"hand": tool.Conflict, "held": tool.PermissionDenied, "lost": tool.Unavailable}[call]
		e := f.refused(code, undo.Selection{Session: "s", Call: call})
		assert.Contains(t, e.Message, want)
		assert.Less(t, len(e.Message), 2000)
		assert.LessOrEqual(t, len(e.Details["paths"].([]string)), 20)
	}
}
