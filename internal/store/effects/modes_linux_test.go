package effects_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// What a command makes unreadable is restored, also for a user who is not root.
func TestUndoOfLockedPaths(t *testing.T) {
	each(t, func(a *arena) {
		for _, c := range []struct{ name, prepare, script string }{
			{"file", some, "chmod 000 a.txt"},
			{"file, written", some, "echo two >a.txt; chmod 000 a.txt"},
			{"file, removed", some, "chmod 000 a.txt; rm a.txt"},
			{"file, renamed", some + "; chmod 000 a.txt", "mv a.txt b.txt"},
			{"write-only file", some, "echo two >a.txt; chmod 200 a.txt"},
			{"new file", some, "echo new >n; chmod 000 n"},
			{"directory", some, "echo z >d/y; chmod 000 d"},
			{"new file in a directory", some, "echo n >d/n; rm d/e/x; chmod 500 d"},
			{"directories", some, "echo z >d/e/x; echo n >d/e/n; chmod 000 d/e; chmod 000 d"},
			{"new directory", some, "mkdir n; echo n >n/n; chmod 000 n"},
			{"file with two names", some + "; ln a.txt b.txt", "chmod 0 a.txt"},
		} {
			a.t.Run(c.name, func(t *testing.T) {
				b := newArena(t, a.level)
				t.Cleanup(func() { b.outside("chmod -R u+rwX .") })
				b.thereAndBack(c.prepare, c.script)
			})
		}
	})
}

// An access control list changes the mode: undo restores that.
func TestUndoOfAnAccessControlList(t *testing.T) {
	testneed.Program(t, "python3")
	const set = "python3 -c 'import os, struct; entry = lambda tag, bits: struct.pack(\"<HHI\", tag, bits, 0xffffffff); " +
		"os.setxattr(\"f\", \"system.posix_acl_access\", struct.pack(\"<I\", 2) + entry(1, 6) + entry(4, 7) + entry(32, 7))'"
	each(t, func(a *arena) {
		a.outside("echo 1 >f; chmod 640 f; if ! " + set + " 2>/dev/null; then rm f; fi")
		if _, err := os.Stat(filepath.Join(a.root, "f")); err != nil {
			testneed.Missing(a.t, "the file system has no access control lists")
		}
		a.thereAndBack("chmod 640 f", set, "f")
	})
}

// A file that is too large to keep is changed even if its size and time are as before; one that was only opened is not.
func TestALargeFileMadeToLookUnchanged(t *testing.T) {
	each(t, func(a *arena) {
		a.outside("head -c 34M /dev/zero >big")
		assert.Empty(a.t, a.sh(": <>big").Note())
		report := a.sh("touch -r big ref; printf X | dd of=big conv=notrunc status=none; touch -r ref big; rm ref")
		assert.Equal(a.t, []string{"big"}, report.Files)
		assert.Contains(a.t, report.Note(), "big (it had more than 32 MiB)")
		_, err := a.store.Undo(a.t.Context(), a.ws, last)
		assert.Equal(a.t, tool.Unavailable, tool.CodeOf(err), "%v", err)
	})
}

// Pipes and sockets that a command leaves stay, or are moved away, and prevent nothing else from being
// restored.
func TestUndoLeavesPipes(t *testing.T) {
	each(t, func(a *arena) {
		t := a.t
		a.outside(some)
		before := a.tree()
		a.sh("mkfifo p; echo two >a.txt; rm d/y; mkfifo d/y; rm l; mkdir n; mkfifo n/q")
		outcome, err := a.store.Undo(t.Context(), a.ws, last)
		require.NoError(t, err)
		assert.Equal(t, []undo.Special{{Path: "d/y", To: "d/y.left"}, {Path: "n/q"}, {Path: "p"}}, outcome.Special)
		assert.Equal(t, []string{"n"}, outcome.Left)
		after := a.tree()
		for _, name := range []string{"p", "d/y.left", "n/q"} {
			info, err := os.Lstat(filepath.Join(a.root, name))
			require.NoError(t, err)
			assert.Equal(t, os.ModeNamedPipe, info.Mode().Type())
			delete(after, name)
		}
		delete(after, "n")
		assert.Equal(t, before, after)
		a.redo()
		assert.Contains(t, a.tree()["a.txt"], "two")
	})
}

// A rename onto a locked directory fails: undo takes nothing in it for new, and so removes nothing.
func TestRenameOntoALockedDirectory(t *testing.T) {
	testneed.Program(t, "python3")
	each(t, func(a *arena) {
		a.outside("mkdir a d; echo 1 >a/a; echo 2 >d/a")
		before := a.tree()
		report := a.sh("chmod 000 a; python3 -c 'import os; os.rename(\"d\", \"a\")' 2>/dev/null || true")
		assert.Equal(a.t, []string{"a"}, report.Files)
		a.undo()
		assert.Equal(a.t, before, a.tree())
	})
}

// A locked directory that was moved may contain what was not kept: it stays, and all else is restored.
func TestALockedDirectoryThatWasMoved(t *testing.T) {
	testneed.NotSuperuser(t)
	each(t, func(a *arena) {
		a.outside("mkdir d e; echo 1 >d/x; echo 1 >a.txt")
		report := a.sh("echo 2 >a.txt; chmod 200 d e; mv d m; mv e n")
		assert.Contains(a.t, report.Note(), "what is in d")
		outcome, err := a.store.Undo(a.t.Context(), a.ws, last)
		require.NoError(a.t, err)
		assert.Equal(a.t, []string{"m"}, outcome.Left)
		after := a.tree()
		assert.Contains(a.t, after["a.txt"], "1")
		assert.Contains(a.t, after, "e")
		assert.NotContains(a.t, after, "n", "it was empty")
		a.unlock()
	})
}

// A directory is restored with its content although a pipe or socket took its place, also in a locked
// directory.
func TestUndoWithAPipeInPlaceOfADirectory(t *testing.T) {
	each(t, func(a *arena) {
		for _, c := range []struct {
			script string
			want   []undo.Special
		}{
			{"mv d m; mkfifo d; rm a.txt; mkfifo a.txt",
				[]undo.Special{{Path: "a.txt", To: "a.txt.left"}, {Path: "d", To: "d.left"}}},
			{"mv d/e m; mkfifo d/e; chmod 000 d", []undo.Special{{Path: "d/e", To: "d/e.left"}}},
			{"rm d/e/x; mkfifo d/e/x; chmod 000 d/e; chmod 000 d", []undo.Special{{Path: "d/e/x", To: "d/e/x.left"}}},
		} {
			a.t.Run(c.script, func(t *testing.T) {
				b := newArena(t, a.level)
				b.outside(some)
				before := b.tree()
				b.sh(c.script)
				outcome, err := b.store.Undo(t.Context(), b.ws, last)
				require.NoError(t, err)
				assert.ElementsMatch(t, c.want, outcome.Special)
				after := b.tree()
				for _, s := range c.want {
					assert.Contains(t, after, s.To)
					delete(after, s.To)
				}
				assert.Equal(t, before, after)
			})
		}
	})
}

// An undo with nothing to do is not recorded: what the session began with can still be restored.
func TestAnUndoWithNothingToDo(t *testing.T) {
	each(t, func(a *arena) {
		t := a.t
		a.outside("echo orig >f; chmod 755 f")
		before := a.tree()
		a.sh("rm f; echo new >f; chmod 644 f")
		a.sh("rm f; echo orig >f; chmod 755 f")
		outcome, err := a.store.Undo(t.Context(), a.ws, undo.Selection{Call: "call1"})
		require.NoError(t, err)
		assert.Empty(t, outcome.Files)
		assert.Empty(t, outcome.Call)
		_, err = a.store.Undo(t.Context(), a.ws, redo)
		assert.Error(t, err, "there is nothing to redo")
		_, err = a.store.Undo(t.Context(), a.ws, undo.Selection{All: true})
		require.NoError(t, err)
		assert.Equal(t, before, a.tree())
	})
}
