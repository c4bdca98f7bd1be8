package obeyed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestLinked(t *testing.T) {
	for _, test := range []struct {
		name, files string // NAME is a file, NAME>TARGET a symlink
		want        string
	}{
		{"nothing", ".git/config .git/hooks/pre-commit .envrc .vscode/tasks.json .claude/settings.json a>b", ""},
		{"a hook", "s/x .git/hooks/pre-commit>../../s/x .git/hooks/x.sample", ".git/hooks/pre-commit s/x"},
		{"a hook in .git", ".git/own/x .git/hooks/x>../own/x", ".git/hooks/x .git/own/x"},
		{"hooks", ".git/HEAD gh/a gh/b>../s/b .git/hooks>../gh", ".git/hooks gh gh/b s/b"},
		{"configuration", ".git/config>../c", ".git/config c"},
		{"a chain", ".envrc>mid mid>c/envrc", ".envrc c/envrc mid"},
		{"on the way", ".vscode>d/vs d>e e/vs/tasks.json", ".vscode d e/vs"},
		{"missing", ".mcp.json>c/new", ".mcp.json c/new"},
		{"deep below a name", ".claude/skills/s/scripts/x>../../../../x .claude/other>../y", ".claude/skills/s/scripts/x x"},
		{"above a name", ".claude>cl .cursor/mcp.json>../m cl/skills/s>../../z", ".claude .cursor/mcp.json cl cl/skills/s m z"},
		{"wildcards", "lefthook-local.yml>l .config/mise.toml>../m", ".config/mise.toml l lefthook-local.yml m"},
		{"a given name", ".agent/Taskfile.yml>../t/T.yml", ".agent/Taskfile.yml t/T.yml"},
		{"in a given directory", "given/a>../b", "b given/a"},
		{"outside", ".envrc>../out/x .vscode>../out .idea>.. .zed>. .exrc>/", ".envrc .exrc .idea .vscode .zed"},
		{"in another tree", ".envrc>../tree/x", ".envrc ../tree/x"},
		{"loops", ".envrc>.envrc .vscode>v v/a>. v/b>../.vscode", ".envrc .vscode v v/a v/b"},
		{"nested, or of others", "sub/.envrc>../x node_modules/.vscode>../x .git>../out/git", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			root := filepath.Join(base, "ws")
			for _, dir := range []string{"ws", "out/git/hooks", "tree"} {
				require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
			}
			testneed.Symlink(t, "../../../ws/x", filepath.Join(base, "out/git/hooks/x"))
			for file := range strings.FieldsSeq(test.files) {
				name, target, link := strings.Cut(file, ">")
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
				if link {
					testneed.Symlink(t, target, filepath.Join(root, name))
				} else {
					require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o644))
				}
			}
			want := strings.Fields(test.want)
			for i, name := range want {
				want[i] = filepath.Join(root, name)
			}
			assert.ElementsMatch(t, want, Linked([]string{root, filepath.Join(base, "tree")}, []string{".agent/Taskfile.yml", "given"}))
		})
	}
}

// The hooks of a linked worktree are those of the repository that it is of.
func TestLinkedOfAWorktree(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, content := range map[string]string{
		"main/.git/worktrees/a/gitdir": base + "/a/.git\n", "main/.git/worktrees/a/commondir": "../..\n",
		"a/.git": "gitdir: " + base + "/main/.git/worktrees/a\n", "main/.git/hooks/x.sample": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(base, name), []byte(content), 0o644))
	}
	testneed.Symlink(t, base+"/a/hook", filepath.Join(base, "main/.git/hooks/pre-commit"))
	assert.Equal(t, []string{base + "/a/hook", base + "/main/.git/hooks/pre-commit"}, Linked([]string{base + "/a"}, nil))
}

// Symlinks three directories deep in a protected one are followed, deeper ones not: docs/CONFIG.md says so.
func TestLinkedAtItsDepth(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{".vscode", ".vscode/a", ".vscode/a/b", ".vscode/a/b/c"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		target := "for" + strings.ReplaceAll(dir, "/", "-")
		require.NoError(t, os.WriteFile(filepath.Join(root, target), nil, 0o644))
		require.NoError(t, os.Symlink(filepath.Join(root, target), filepath.Join(root, dir, "link")))
	}
	found := Linked([]string{root}, nil)
	assert.Contains(t, found, filepath.Join(root, "for.vscode-a-b"))
	assert.NotContains(t, found, filepath.Join(root, "for.vscode-a-b-c"))
}
