package obeyed

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func exists(paths ...string) Exists {
	return func(path string) bool { return slices.Contains(paths, path) }
}

func TestGit(t *testing.T) {
	bare := exists("/w/b/HEAD", "/w/b/objects", "/w/b/refs", "/w/b/config")
	for _, c := range []struct {
		path   string
		exists Exists
		want   bool
	}{
		{"/w/.git", exists(), true}, {"/w/sub/.GIT", exists(), true}, {"/w/.gitignore", exists(), false},
		{"/w/.git/config", exists(), true}, {"/w/.git/config.lock", exists(), false}, {"/w/.git/HEAD", exists(), false},
		{"/w/.git/commondir", exists(), true}, {"/w/.git/hooks/pre-commit", exists(), true},
		{"/w/.git/refs/heads/config", exists(), false}, {"/w/.git/modules/a/config", exists(), true},
		{"/w/.git/modules/a/refs/heads/config", exists(), false}, {"/w/.git/worktrees/w/commondir", exists(), true},
		{"/w/HEAD", exists(), false}, {"/w/HEAD", exists("/w/objects"), true}, {"/w/HEAD", exists("/w/refs"), true},
		{"/w/HEAD", exists("/w/commondir"), true}, {"/w/head", exists("/w/refs"), true},
		{"/w/objects", exists("/w/HEAD"), true}, {"/w/refs", exists("/w/HEAD"), true},
		{"/w/objects", exists("/w/refs"), false}, {"/w/commondir", exists("/w/HEAD"), true},
		{"/w/config", exists(), false}, {"/w/b/config", bare, true}, {"/w/b/hooks/update", bare, true},
		{"/w/b/HEAD", bare, false}, {"/w/b/refs", bare, false}, {"/w/b/refs/heads/x", bare, false},
		{"/w/b/info/attributes", bare, true}, {"/w/b/sequencer/opts", bare, true}, {"/w/sequencer/opts", bare, false},
	} {
		assert.Equal(t, c.want, Git(c.path, c.exists), c.path)
	}
	for path, want := range map[string]bool{"/w/.git/HEAD": true, "/w/.git/refs": true, "/w/.git/objects": true,
		"/w/.git/index": false, "/w/.git/refs/heads": false, "/w/b/HEAD": true, "/w/HEAD": false} {
		assert.Equal(t, want, Vital(path, bare), path)
	}
}

func TestPattern(t *testing.T) {
	for path, want := range map[string]bool{"/w/.git/config": true, "/w/n/.git/hooks": true, "/w/.git/hooks/pre-commit": true,
		"/w/.git/modules/a/b/config": true, "/w/.git/worktrees/w/commondir": true, "/w/.git/rebase-apply/apply-opt": true,
		"/w/.git/config.lock": false, "/w/.git/index": false, "/w/.git/refs/heads/config": false, "/w/config": false, "/w/.git": false,
		"/w/.git/objects/info/alternates": true, "/w/.git/rebase-merge/done": false} {
		assert.Equal(t, want, regexp.MustCompile(Pattern()).MatchString(path), path)
	}
}

func TestByName(t *testing.T) {
	for path, want := range map[string]bool{
		".envrc": true, "a/b/.envrc": true, ".vscode/tasks.json": true, "a/.vscode": true, ".claude/settings.json": true,
		"a/.claude/settings.json": true, ".claude/notes.md": false, ".claude": false, ".husky/pre-commit": true,
		"node_modules/x/.vscode/settings.json": false, ".npmrc": false, "lefthook-local.yaml": true, "a/.lefthook/pre-push/x": true,
		".pre-commit-config.yaml": true, "mise.toml": true, "a/.config/mise/config.toml": true, "mise/x.go": false, "lefthook.go": false,
		".opencode/plugins/x.ts": true, ".claude/skills/x/SKILL.md": true, "sub/.vimrc": true,
	} {
		assert.Equal(t, want, ByName(strings.Split(path, "/")), path)
	}
	for _, of := range byName {
		assert.NotEmpty(t, of.reason, of.globs)
		for _, glob := range of.globs {
			_, err := path.Match(glob, "")
			assert.NoError(t, err, glob)
		}
	}
	for glob, want := range map[string]bool{"b": true, "a/b": true, "a/?": true, "x/b": false, "*/a/b": true, "*/*/a/b": false, "a": false} {
		assert.Equal(t, want, ParseGlobs([]string{glob})[0].Ends([]string{"c", "a", "b"}), glob)
	}
	assert.True(t, HoldsName([]string{"a", ".claude"}))
	assert.False(t, HoldsName([]string{"a", "claude"}))
}

func TestHarmless(t *testing.T) {
	assert.True(t, Harmless("pick 1234 x\n# exec\n\nbreak\nlabel onto\nmerge -C 12 side\n"))
	for _, todo := range []string{"exec touch x", "x true", "  exec true", "pick 1 a\nexec true\n", "unknown"} {
		assert.False(t, Harmless(todo), todo)
	}
}

func TestConfigured(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		".git/config": "[core]\n\tbare = false\n\thooksPath = .githooks\n\tfsmonitor = \"tools/watch --all\"\n" +
			"[include]\n\tpath = ../git.inc\n[alias]\n\tx = !sh tools/x.sh\n[remote \"origin\"]\n\turl = origin\n" +
			"[filter \"f\"]\n\tclean = tools/clean %f\n[branch \"main\"]\n\tremote = origin\n[core] attributesFile = attrs\n",
		"tools/watch": "", "tools/x.sh": "", "tools/clean": "", "origin": "", "other": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o644))
	}
	var want []string
	for _, name := range []string{".githooks", "attrs", "git.inc", "tools/clean", "tools/watch", "tools/x.sh"} {
		want = append(want, filepath.Join(root, name))
	}
	assert.ElementsMatch(t, want, Configured(root))
}
