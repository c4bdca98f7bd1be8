package ocode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testgit"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := testgit.Command(t, dir, args...).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "CONFLICT") {
		require.NoError(t, err, "git %v: %s", args, out)
	}
	return strings.TrimSpace(string(out))
}

// repository is a bench whose workspace is a repository with one commit.
func repository(t *testing.T) *bench {
	b := newBench(t)
	git(t, b.root, "init", "-q", "-b", "main")
	b.write("file.py", strings.Repeat("print('a line that is there')\n", 20))
	b.write("other.py", "x\n")
	git(t, b.root, "add", ".")
	git(t, b.root, "commit", "-q", "-m", "first")
	return b
}

func TestGitStatus(t *testing.T) {
	testgit.Isolate(t) // for the tool's git too
	t.Run("example", func(t *testing.T) {
		b := repository(t)
		b.write("file.py", "changed\n")
		g := b.ok("git_status", nil)
		assert.Equal(t, "On branch main\nChanges not staged:\n  modified: file.py", g.Output)
		assert.Equal(t, "main", g.Metadata["branch"])
		assert.Equal(t, []any{"file.py"}, g.Metadata["modified_files"])
		assert.Equal(t, []any{}, g.Metadata["untracked_files"])
		assert.Equal(t, []any{}, g.Metadata["staged_files"])
	})
	t.Run("clean", func(t *testing.T) {
		g := repository(t).ok("git_status", nil)
		assert.Equal(t, "On branch main\nnothing to commit, working tree clean", g.Output)
		assert.Equal(t, true, g.Metadata["clean"])
	})
	t.Run("staged, deleted and untracked", func(t *testing.T) {
		b := repository(t)
		b.write("new.py", "y\n")
		git(t, b.root, "add", "new.py")
		b.write("ein name.txt", "z\n")
		require.NoError(t, os.Remove(b.path("other.py")))
		g := b.ok("git_status", nil)
		assert.Equal(t, "On branch main\nChanges staged:\n  new file: new.py\nChanges not staged:\n"+
			"  deleted: other.py\nUntracked files:\n  ein name.txt", g.Output)
		assert.Equal(t, []any{"new.py"}, g.Metadata["staged_files"])
		assert.Equal(t, []any{"other.py"}, g.Metadata["modified_files"])
		assert.Equal(t, []any{"ein name.txt"}, g.Metadata["untracked_files"])
	})
	t.Run("renames", func(t *testing.T) {
		b := repository(t)
		git(t, b.root, "mv", "file.py", "größe.py")
		g := b.ok("git_status", nil)
		assert.Contains(t, g.Output, "renamed: file.py -> größe.py")
		assert.Equal(t, args{"größe.py": "file.py"}, g.Metadata["renamed_files"])
	})
	t.Run("conflicts", func(t *testing.T) {
		b := repository(t)
		git(t, b.root, "checkout", "-q", "-b", "side")
		b.write("other.py", "side\n")
		git(t, b.root, "commit", "-qam", "side")
		git(t, b.root, "checkout", "-q", "main")
		b.write("other.py", "main\n")
		git(t, b.root, "commit", "-qam", "main")
		git(t, b.root, "merge", "-q", "side")
		g := b.ok("git_status", nil)
		assert.Equal(t, "On branch main\nA merge is in progress\nUnmerged paths:\n  both modified: other.py", g.Output)
		assert.Equal(t, []any{"other.py"}, g.Metadata["conflicted_files"])
		assert.Equal(t, "merge", g.Metadata["state"])
	})
	t.Run("detached head", func(t *testing.T) {
		b := repository(t)
		commit := git(t, b.root, "rev-parse", "HEAD")
		git(t, b.root, "checkout", "-q", "--detach")
		g := b.ok("git_status", nil)
		assert.True(t, strings.HasPrefix(g.Output, "HEAD detached at "+commit[:7]), g.Output)
		assert.Equal(t, true, g.Metadata["detached"])
		assert.Equal(t, "HEAD", g.Metadata["branch"])
		assert.Equal(t, commit, g.Metadata["commit"])
	})
	t.Run("no commit yet", func(t *testing.T) {
		b := newBench(t)
		git(t, b.root, "init", "-q", "-b", "trunk")
		b.write("a.txt", "x\n")
		g := b.ok("git_status", nil)
		assert.Equal(t, "On branch trunk\nNo commits yet\nUntracked files:\n  a.txt", g.Output)
		assert.Equal(t, "", g.Metadata["commit"])
		assert.Equal(t, "trunk", g.Metadata["branch"])
	})
	t.Run("submodules", func(t *testing.T) {
		b := repository(t)
		lib := filepath.Join(b.outer, "lib")
		require.NoError(t, os.Mkdir(lib, 0o755))
		git(t, lib, "init", "-q", "-b", "main")
		require.NoError(t, os.WriteFile(filepath.Join(lib, "lib.py"), []byte("x\n"), 0o644))
		git(t, lib, "add", ".")
		git(t, lib, "commit", "-qm", "lib")
		git(t, b.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "vendor/lib")
		git(t, b.root, "commit", "-qm", "with lib")
		assert.Equal(t, true, b.ok("git_status", nil).Metadata["clean"])
		b.write("vendor/lib/lib.py", "y\n")
		g := b.ok("git_status", nil)
		assert.Contains(t, g.Output, "modified: vendor/lib (modified content)")
		assert.Equal(t, []any{"vendor/lib"}, g.Metadata["submodules"])
		git(t, b.path("vendor/lib"), "commit", "-qam", "more")
		assert.Contains(t, b.ok("git_status", nil).Output, "modified: vendor/lib (new commits)")
		b.write("vendor/lib/new.py", "y\n")
		assert.Contains(t, b.ok("git_status", nil).Output, "modified: vendor/lib (new commits, untracked content)")
		inner := b.ok("git_status", args{"path": "vendor/lib"})
		assert.Equal(t, []any{"new.py"}, inner.Metadata["untracked_files"], "a submodule is a repository too")
	})
	t.Run("linked work tree", func(t *testing.T) {
		b := repository(t)
		git(t, b.root, "worktree", "add", "-q", "-b", "feature", "wt")
		b.write("wt/other.py", "y\n")
		g := b.ok("git_status", args{"path": "wt"})
		assert.Equal(t, "feature", g.Metadata["branch"])
		assert.Equal(t, []any{"other.py"}, g.Metadata["modified_files"])
	})
	t.Run("path", func(t *testing.T) {
		b := repository(t)
		b.write("sub/a.py", "x\n")
		b.write("top.py", "x\n")
		g := b.ok("git_status", args{"path": "sub"})
		assert.Equal(t, []any{"a.py"}, g.Metadata["untracked_files"], "relative to path, and what lies in it")
		b.fails("File not found: none", "git_status", args{"path": "none"})
		b.fails("Path not allowed: .. is outside the workspace", "git_status", args{"path": ".."})
	})
	t.Run("path default is the workspace", func(t *testing.T) {
		b := repository(t)
		assert.Equal(t, b.ok("git_status", args{"path": "."}).Output, b.ok("git_status", nil).Output)
	})
	t.Run("path without a repository", func(t *testing.T) {
		newBench(t).fails("Not a git repository: .", "git_status", nil)
	})
	t.Run("path to what has no work tree", func(t *testing.T) {
		b := repository(t)
		b.write("file.py", "changed\n")
		git(t, b.root, "init", "-q", "--bare", "store.git")
		for _, path := range []string{"store.git", ".git", ".git/objects"} {
			g := b.failsWith("No work tree: "+path, "git_status", args{"path": path})
			assert.Contains(t, g.Metadata["suggestion"], "work tree")
		}
		outside := newBench(t)
		git(t, outside.root, "init", "-q", "--bare", "store.git")
		outside.failsWith("No work tree: store.git", "git_status", args{"path": "store.git"})
		outside.fails("Not a git repository: .", "git_status", args{"path": ""})
	})
	t.Run("verbose default false", func(t *testing.T) {
		assert.NotContains(t, repository(t).ok("git_status", nil).Output, "Last commit")
	})
	t.Run("verbose true", func(t *testing.T) {
		b := repository(t)
		b.write("other.py", "stash me\n")
		git(t, b.root, "stash", "-q")
		git(t, b.root, "branch", "up")
		git(t, b.root, "branch", "-q", "--set-upstream-to=up")
		b.write("other.py", "more\n")
		git(t, b.root, "commit", "-qam", "second: more")
		git(t, b.root, "mv", "file.py", "moved.py")
		g := b.ok("git_status", args{"verbose": true})
		assert.Contains(t, g.Output, "second: more\nUpstream: up, 1 ahead, 0 behind\nStashes: 1\n")
		assert.Contains(t, g.Output, "renamed: file.py -> moved.py (100% alike)")
		assert.EqualValues(t, 1, g.Metadata["ahead"])
		assert.EqualValues(t, 1, g.Metadata["stashes"])
	})
	t.Run("runs nothing that the repository names", func(t *testing.T) {
		b := repository(t)
		git(t, b.root, "config", "core.fsmonitor", "touch "+b.path("ran"))
		git(t, b.root, "config", "filter.evil.clean", "touch "+b.path("ran")+"; cat")
		b.write(".gitattributes", "*.py filter=evil\n")
		b.write("other.py", "changed\n")
		b.ok("git_status", args{"verbose": true})
		assert.NoFileExists(t, b.path("ran"))
	})
}
