package effects_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const quietly = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1\n"

// Operations of git on the whole tree: files, HEAD, refs, the index and the stash are undone and redone.
func TestGitOverTheWholeTree(t *testing.T) {
	testneed.Program(t, "git")
	const commits = `git init -q -b main; git config user.email a@b; git config user.name a; git config gc.auto 0
for i in 1 2 3 4 5 6 7 8 9; do mkdir -p d$i; echo $i >d$i/f; ln -s f d$i/l; done; chmod 755 d1/f
git add -A; git commit -qm one
git switch -qc other; git mv d1 e1; echo x >d2/f; git rm -q d3/f; git add -A; git commit -qm two
git switch -q main; echo mine >d4/f; git commit -qam three; echo dirty >d5/f; echo new >untracked`
	each(t, func(a *arena) {
		for name, c := range map[string]struct{ script, moved string }{
			"switch":            {"git stash -q; git switch -q other", ".git/HEAD"},
			"hard reset":        {"git reset -q --hard HEAD~1", ".git/refs/heads/main"},
			"stash":             {"git stash -qu && git stash pop -q && git stash -q", ".git/refs/stash"},
			"rebase":            {"git stash -q; git rebase -q other", ".git/refs/heads/main"},
			"clean":             {"git clean -fdxq; git checkout -q -- .", ".git/index"},
			"branches and tags": {"git branch -q -D other; git tag t; git pack-refs --all", ".git/packed-refs"},
		} {
			a.t.Run(name, func(t *testing.T) {
				b := newArena(t, a.level)
				b.outside(quietly + commits)
				b.sh("true") // the sandbox makes what it has to cover in .git
				before, status := b.withoutObjects(), b.status()
				report := b.sh(quietly + c.script)
				require.NoError(t, report.Err)
				require.Empty(t, report.Note())
				assert.Contains(t, report.Files, c.moved, "a call that moves refs says so")
				after, moved := b.withoutObjects(), b.status()
				require.NotEqual(t, before, after)
				b.undo()
				b.same(before, "undo")
				assert.Equal(t, status, b.status())
				b.redo()
				b.same(after, "redo")
				assert.Equal(t, moved, b.status())
			})
		}
	})
}

// status returns what git finds: the branch, its commit, what has changed, and that all objects exist.
func (a *arena) status() string {
	a.t.Helper()
	cmd := exec.Command("sh", "-c",
		quietly+"git --no-optional-locks status --porcelain=v2 --branch && git fsck --no-dangling")
	cmd.Dir = a.root
	out, err := cmd.Output()
	require.NoError(a.t, err)
	return string(out)
}

func TestSplice(t *testing.T) {
	each(t, func(a *arena) {
		a.python(some, `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
source, target = os.open("a.txt", os.O_RDONLY), os.open("d/y", os.O_WRONLY)
r, w = os.pipe()
assert libc.splice(source, None, w, None, ctypes.c_size_t(4), 0) == 4, ctypes.get_errno()
assert libc.splice(r, None, target, None, ctypes.c_size_t(4), 0) == 4, ctypes.get_errno()`, "d/y")
	})
}

// What an editor saves while a command writes the same file is never lost: undo leaves it, or keeps what it
// replaces.
func TestSavedWhileACommandRan(t *testing.T) {
	each(t, func(a *arena) {
		t := a.t
		path, beside := filepath.Join(a.root, "a.txt"), testneed.VisibleDir(t)
		for round := range 20 {
			require.NoError(t, os.WriteFile(path, []byte("before\n"), 0o644))
			mine := fmt.Sprintf("mine %d\n", round)
			saved := make(chan error, 1)
			go func() {
				next := filepath.Join(beside, "next")
				if err := os.WriteFile(next, []byte(mine), 0o644); err != nil {
					saved <- err
					return
				}
				saved <- os.Rename(next, path)
			}()
			a.sh("echo command >a.txt; echo other >b.txt; echo more >>a.txt")
			require.NoError(t, <-saved)
			there, err := os.ReadFile(path)
			require.NoError(t, err)
			outcome, err := a.store.Undo(t.Context(), a.ws, undo.Selection{Session: "s", Ours: round%2 == 0})
			if err == nil {
				_, err = a.store.Undo(t.Context(), a.ws, undo.Selection{Session: "s", Call: outcome.Call})
				require.NoError(t, err)
			} else {
				require.Equal(t, tool.Conflict, tool.CodeOf(err), "%v", err)
			}
			found, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(there), string(found), "what was there comes back")
		}
	})
}
