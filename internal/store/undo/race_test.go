package undo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// saves are ways in which editors save.
var saves = []func(path, text string) error{
	func(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) },
	func(path, text string) error {
		return errors.Join(os.WriteFile(path+"~", []byte(text), 0o644), os.Rename(path+"~", path))
	},
}

// TestUndoRacesWithAnEditor saves a file while its change is undone, also with --ours: what was saved is in the
// file, or undo has kept it.
func TestUndoRacesWithAnEditor(t *testing.T) {
	testproc.Unchanged(t)
	testneed.Leases(t)
	races := 60
	if testneed.Long() {
		races = 2000
	}
	f := newFixture(t, undo.Options{})
	for i := range races {
		path, call, mine := fmt.Sprintf("f%d", i%10), fmt.Sprint("c", i), fmt.Sprintf("saved %d\n", i)
		f.plant(path, fmt.Sprintf("old %d\n", i))
		f.write(call, path, fmt.Sprintf("tool %d\n", i))
		var both sync.WaitGroup
		var took time.Duration
		both.Go(func() {
			began := time.Now()
			assert.NoError(t, saves[i%2](filepath.Join(f.dir, path), mine))
			took = time.Since(began)
		})
		out, err := f.store.Undo(context.Background(), f.ws,
			undo.Selection{Session: "s", Call: call, Ours: i%3 == 0})
		both.Wait()
		if took > 300*time.Millisecond {
			continue // undo does not wait forever
		}
		if err != nil {
			require.Contains(t, []tool.Code{tool.Conflict, tool.NotFound, tool.Unavailable}, tool.CodeOf(err), "%v",
				err)
		}
		if found := f.content(path); found != mine {
			require.NotNil(t, out, "race %d: %q is there after %v", i, found, err)
			f.undo(undo.Selection{Session: "s", Call: out.Call})
			require.Equal(t, mine, f.content(path), "race %d: kept by undo", i)
		}
	}
}

func (f *fixture) content(path string) string {
	f.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, path))
	require.NoError(f, err)
	return string(data)
}

// undoing is a child that undoes the call "many" and may be killed.
func undoing(dir string) error {
	store, err := undo.Open(storeOf(dir), undo.Options{})
	if err != nil {
		return err
	}
	ws, err := workspace.Open(dir, workspace.Options{Recorder: store.Recorder("", "", 0)})
	if err != nil {
		return err
	}
	defer ws.Close()
	_, err = store.Undo(context.Background(), ws, undo.Selection{Session: "s", Call: "many"})
	return err
}

// killOnce kills the process when the file has that content, or it ends before.
func killOnce(t *testing.T, cmd *exec.Cmd, path, text string) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.Eventually(t, func() bool {
		data, _ := os.ReadFile(path)
		return string(data) == text || len(ended) > 0
	}, time.Minute, 50*time.Microsecond)
	_ = cmd.Process.Kill()
	<-ended
}

// TestUndoIsKilled kills undo at some point: every file is old or new, and the next undo does the rest.
func TestUndoIsKilled(t *testing.T) {
	testneed.NotShort(t, "undoes thousands of changes")
	testproc.Unchanged(t)
	kills := 6
	if testneed.Long() {
		kills = 300
	}
	for n := range kills {
		f := newFixture(t, undo.Options{})
		for i := range 40 {
			f.plant(fmt.Sprintf("d%d/f", i), fmt.Sprintf("old %d\n", i))
		}
		before := f.tree()
		for i := range 40 {
			f.write("many", fmt.Sprintf("d%d/f", i), strings.Repeat(fmt.Sprintf("new %d\n", i), 100))
			require.NoError(t, f.as("many").Chmod(fmt.Sprintf("d%d/f", i), fs.FileMode(0o600)))
		}
		cmd := start(t, f, "undo", "undo")
		at := n * 13 % 40
		killOnce(t, cmd, filepath.Join(f.dir, fmt.Sprintf("d%d/f", at)), fmt.Sprintf("old %d\n", at))
		for i := range 40 {
			found := f.content(fmt.Sprintf("d%d/f", i))
			old, tools := fmt.Sprintf("old %d\n", i), strings.Repeat(fmt.Sprintf("new %d\n", i), 100)
			require.Contains(t, []string{old, tools}, found, "kill %d", n)
		}
		_, err := f.ws.Sweep(context.Background())
		require.NoError(t, err)
		_, err = f.store.Undo(context.Background(), f.ws, undo.Selection{Session: "s", Call: "many"})
		if tool.CodeOf(err) != tool.NoChange { // it ended before the kill
			require.NoError(t, err, "kill %d", n)
		}
		assert.Equal(t, before, f.tree(), "kill %d", n)
	}
}
