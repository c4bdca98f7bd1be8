package effects_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Holes made in a file, and space allocated without writing.
func TestHoles(t *testing.T) {
	each(t, func(a *arena) {
		a.python("head -c 100000 /dev/zero | tr '\\0' x >big; echo small >small", `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def fallocate(name, mode, at, size):
    fd = os.open(name, os.O_RDWR)
    assert libc.fallocate(fd, mode, ctypes.c_long(at), ctypes.c_long(size)) == 0, ctypes.get_errno()
fallocate("big", 3, 4096, 8192)
fallocate("small", 0, 0, 70000)`, "big", "small")
	})
}

// Undo never sets a set-user-ID bit, and says so.
func TestSpecialBits(t *testing.T) {
	each(t, func(a *arena) {
		t := a.t
		if err := os.Chmod(t.TempDir(), 0o755|os.ModeSetgid); err != nil {
			testneed.Missing(t, fmt.Sprintf("special bits cannot be set here: %v", err))
		}
		a.outside("echo 1 >suid; echo 2 >still; chmod 4755 suid still; mkdir -m 3777 d; mkdir -m 2755 e")
		report := a.sh("chmod 755 suid; echo 3 >new; rmdir e; : still d")
		assert.Contains(t, report.Note(), "set-user-ID, set-group-ID and sticky bits of suid")
		assert.Contains(t, report.Note(), "bits of e")
		assert.NotContains(t, report.Note(), "still")
		assert.NotContains(t, report.Note(), "of d")
		a.undo()
		info, err := os.Stat(filepath.Join(a.root, "e"))
		require.NoError(t, err)
		assert.Equal(t, os.ModeDir|0o755, info.Mode())
		info, err = os.Stat(filepath.Join(a.root, "suid"))
		require.NoError(t, err)
		assert.Zero(t, info.Mode()&os.ModeSetuid)
		report = a.sh("rm suid; echo 4 >>new; touch still")
		assert.Empty(t, report.Note())
	})
}

// On a full disk the command continues. What could not be kept is reported; each file is restored or stays as
// the command left it.
func TestAFullDiskWhileKeeping(t *testing.T) {
	each(t, func(a *arena) {
		t := a.t
		disk := t.TempDir()
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
			testneed.Missing(t, fmt.Sprintf("a small file system cannot be mounted here: %v", err))
		}
		t.Cleanup(func() { assert.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
		var err error
		a.store, err = undo.Open(disk, undo.Options{})
		require.NoError(t, err)
		a.ws, err = workspace.Open(a.root, workspace.Options{Recorder: a.store.Recorder("", "", 0)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = a.ws.Close() })
		a.outside("for i in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/urandom >f$i; done")
		before := a.tree()
		report := a.sh("for i in 1 2 3 4 5 6 7 8; do echo $i >f$i; done")
		after := a.tree()
		assert.Regexp(t, `f\d \(it cannot be kept in `+disk+`: no space left on device\)`, report.Note())
		assert.True(t, report.Undoable())
		for i := range 8 {
			name := fmt.Sprint("f", i+1)
			assert.NotEqual(t, before[name], after[name], "the command has done its work")
		}
		require.NoError(t, unix.Mount("", disk, "", unix.MS_REMOUNT, "size=64m"))
		calls, err := a.store.Calls(t.Context(), undo.Filter{})
		require.NoError(t, err)
		for _, call := range calls {
			_, err := a.store.Undo(t.Context(), a.ws, undo.Selection{Call: call.Call, Ours: true, Skip: true})
			if len(call.Files) > 0 {
				require.NoError(t, err)
			}
		}
		back := 0
		for name, is := range a.tree() {
			if is == before[name] {
				back++
				continue
			}
			assert.Equal(t, after[name], is, "%s is neither as before nor as after", name)
		}
		assert.Greater(t, back, 1, "what was kept comes back")
		a.thereAndBack("", "rm f1; echo x >f2", "f1", "f2")
	})
}

// If nothing can be kept, each path is named, and no undo is offered.
func TestNothingCanBeKept(t *testing.T) {
	root, state := t.TempDir(), filepath.Join(t.TempDir(), "undo")
	require.NoError(t, os.WriteFile(state, []byte("no directory"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "f"), []byte("old"), 0o600))
	store, err := undo.Open(state, undo.Options{})
	require.NoError(t, err)
	call := effects.New(store, undo.Call{Session: "s", ID: "c1"}, effects.Trees{Root: root})
	call.Begin()()
	dir, err := os.Open(root)
	require.NoError(t, err)
	defer dir.Close()
	call.Before(watch.Place{Path: filepath.Join(root, "f"), Dir: int(dir.Fd()), Name: "f"}, watch.Content)
	require.NoError(t, os.Remove(filepath.Join(root, "f")))
	report := call.End()
	assert.Equal(t, []string{"f"}, report.Files)
	assert.Contains(t, report.Note(), "f (it cannot be kept in "+state+": not a directory)")
	assert.False(t, report.Undoable())
}

// If a command writes more files than are kept, the result says how many are not; the others are restored.
func TestMoreFilesThanAreKept(t *testing.T) {
	testneed.LongOnly(t, "200,000 files take a minute")
	const files = 200_000
	a := newArena(t, sandbox.Full)
	report := a.sh(fmt.Sprintf("mkdir d; cd d; seq %d | xargs touch", files))
	beyond := files + 1 - effects.MaxPaths
	assert.Len(t, report.Files, effects.MaxPaths)
	assert.Contains(t, report.Note(), "paths beyond the first 50000 of the call")
	a.undo()
	left, err := os.ReadDir(filepath.Join(a.root, "d"))
	require.NoError(t, err)
	assert.Len(t, left, beyond)
	calls, err := a.store.Calls(t.Context(), undo.Filter{Call: "call1"})
	require.NoError(t, err)
	require.Len(t, calls, 1)
	assert.Equal(t, report.Note(), calls[0].NotKept)
}

// serving is a process that executes files until told to stop.
const serving = `until test -e stop; do
	for todo in *.todo; do
		name=${todo%.todo}
		test "$name" = "*" || test -e "$name.done" || { echo x >"$name"; mv "$name" "$name.done"; }
	done
	sleep 0.02
done`

// Changes by a process that serves many calls belong to the only call in progress, or else to a call of its
// own.
func TestLife(t *testing.T) {
	each(t, func(a *arena) {
		t := a.t
		var calls effects.Calls
		life := effects.NewLifetime(&calls, a.store, undo.Call{Session: "s", ID: "plugin p", Tool: "plugin p"},
			effects.Trees{Root: a.root})
		policy := sandbox.Policy{Level: a.level, Workspace: a.root, NoCache: true}
		ended := make(chan error, 1)
		go func() {
			_, err := proc.Run(watch.With(context.Background(), life), proc.Command{
				Argv: []string{"/bin/sh", "-c", serving}, Dir: a.root, Env: proc.Environ(nil), Prepare: policy.Confine})
			ended <- err
		}()
		do := func(name string) {
			require.NoError(t, os.WriteFile(filepath.Join(a.root, name+".todo"), nil, 0o644))
			require.Eventually(t, func() bool {
				_, err := os.Stat(filepath.Join(a.root, name+".done"))
				return err == nil
			}, time.Minute, 5*time.Millisecond)
		}
		begin := func(id string) (*effects.Call, func()) {
			call := effects.New(a.store, undo.Call{Session: "s", ID: id, Tool: "t"}, effects.Trees{Root: a.root})
			return call, calls.Enter(call)
		}
		one, leave := begin("one")
		do("during-one")
		leave()
		assert.Equal(t, []string{"during-one.done"}, one.End().Files)
		do("between")
		two, leaveTwo := begin("two")
		three, leaveThree := begin("three")
		do("during-both")
		leaveTwo()
		assert.Empty(t, two.End().Files)
		do("during-three")
		leaveThree()
		assert.Equal(t, []string{"during-three.done"}, three.End().Files)
		require.NoError(t, os.WriteFile(filepath.Join(a.root, "stop"), nil, 0o644))
		require.NoError(t, <-ended)

		require.EventuallyWithT(t, func(t *assert.CollectT) { // the watcher ends after the process
			found, err := a.store.Calls(context.Background(), undo.Filter{})
			require.NoError(t, err)
			changed := map[string]string{}
			for _, call := range found {
				changed[call.Call] = strings.Join(call.Files, " ")
			}
			assert.Equal(t, map[string]string{"one": "during-one.done", "three": "during-three.done",
				"plugin p": "between.done during-both.done"}, changed)
		}, time.Minute, 20*time.Millisecond)
		_, err := a.store.Undo(t.Context(), a.ws, undo.Selection{Call: "plugin p"})
		require.NoError(t, err)
		tree := a.tree()
		assert.NotContains(t, tree, "between.done")
		assert.NotContains(t, tree, "during-both.done")
		assert.Contains(t, tree, "during-one.done")
	})
}

// A directory of any depth is moved with few descriptors of the host, and what is not examined is reported.
func TestMoveOfADeepDirectory(t *testing.T) {
	testneed.Program(t, "python3")
	each(t, func(a *arena) {
		a.outside("mkdir -p deep/d/d; echo 1 >deep/d/d/f")
		const deeper = `
import os
os.chdir("deep")
for i in range(600):
    os.mkdir("n"); os.chdir("n")
`
		a.run([]string{"python3", "-c", deeper})
		report := a.run([]string{"python3", "-c", `
import os
os.rename("deep", "moved")`})
		assert.Contains(t, report.Note(), "more than 256 directories deep in "+filepath.Join(a.root, "deep"))
		assert.Contains(t, report.Files, "deep/d/d/f")
		assert.Contains(t, report.Files, "moved/d/d/f")
	})
}
