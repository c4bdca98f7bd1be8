package obeyed

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// cloned is a configuration as git clone writes it.
const cloned = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[remote "origin"]
	url = https://example.com/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
`

func tree(files map[string]string) Trees {
	exists := func(path string) bool {
		for name := range files {
			if name == path || strings.HasPrefix(name, path+"/") {
				return true
			}
		}
		return false
	}
	return Trees{Exists: exists, Straight: exists,
		Writable: func(path string) bool { return within(path, "/w") }, Root: func(path string) bool { return path == "/w" },
		Read: func(path string) (string, bool) { content, ok := files[path]; return content, ok }}
}

func TestCheckedConfig(t *testing.T) {
	set := func(section, line string) string { return "[" + section + "]\n\t" + line + "\n" }
	for name, c := range map[string]struct {
		old, content string
		first, later bool // whether it may be created, and replace old in the tree's own repository
	}{
		"git's own":               {cloned, cloned, true, true},
		"a branch":                {cloned, cloned + set(`branch "x/y"`, "remote = origin") + "\tmerge = refs/heads/x\n", true, true},
		"a branch of a stranger":  {cloned, cloned + set(`branch "x"`, "remote = https://example.com"), false, false},
		"another version":         {cloned, strings.ReplaceAll(cloned, "version = 0", "version = 1"), true, true},
		"an unknown version":      {cloned, strings.ReplaceAll(cloned, "version = 0", "version = 2"), false, false},
		"a branch less":           {cloned, cloned[:strings.Index(cloned, "[branch")], true, true},
		"another remote":          {cloned, cloned + set(`remote "o"`, "url = https://example.org/"), true, false},
		"the remote is elsewhere": {cloned, strings.ReplaceAll(cloned, "example.com", "example.org"), true, false},
		"the first remote":        {set("core", "bare = false"), set("core", "bare = false") + set(`remote "o"`, "url = ../x"), true, true},
		"a submodule":             {cloned, cloned + set(`submodule "s"`, "url = https://example.org/s") + "\tactive = true\n", true, true},
		"a name":                  {cloned, cloned + set("user", "name = A. Nother"), true, false},
		"the user's own":          {cloned + set("core", "hooksPath = .husky"), cloned + set("core", "hooksPath = .husky"), false, true},
		"the user's own less":     {cloned + set("core", "hooksPath = .husky"), cloned, true, false},
		"the user's own and a branch": {set("alias", "x = !sh") + cloned, set("alias", "x = !sh") + cloned +
			set(`branch "z"`, "rebase = true"), false, true},
		"a line that goes on":    {"[alias]\n\tx = a \\\nb\n", "[alias]\n\tx = a \\\nb\n" + set(`branch "z"`, "rebase = true"), false, false},
		"a header and a value":   {"", "[core] fsmonitor = x\n", false, false},
		"the old form":           {"", "[branch.x]\n\trebase = true\n", false, false},
		"a quoted value":         {"", set("core", `bare = "false"`), false, false},
		"a byte order mark":      {"", "\ufeff" + cloned, false, false},
		"a strange blank":        {"", set("core", "bare = false\v"), false, false},
		"a value behind a value": {"", set("core", "bare = false\rfsmonitor = x"), false, false},
	} {
		check := tree(nil).Checked("/w/.git/config")
		require.NotNil(t, check)
		assert.Equal(t, c.first, check.Accepts("", false, c.content), name)
		assert.Equal(t, c.later, check.Accepts(c.old, true, c.content), name)
		nested := tree(nil).Checked("/w/x/.git/config")
		plain := nested.Accepts("", false, c.old)
		assert.Equal(t, plain && c.first || c.later, nested.Accepts(c.old, true, c.content), "nested: "+name)
	}
}

// The settings start a program or lead elsewhere.
func TestProgramsInConfig(t *testing.T) {
	for _, line := range []string{"core|fsmonitor = x", "core|hooksPath = h", "core|sshCommand = x", "core|editor = x", "core|pager = x",
		"core|askPass = x", "core|gitProxy = x", "core|attributesFile = x", "core|alternateRefsCommand = x", "core|bare = true",
		"core|worktree = ..", "include|path = x", `includeIf "gitdir:/"|path = x`, "alias|status = !x", "diff|external = x",
		`diff "x"|textconv = x`, `filter "x"|clean = x`, `filter "x"|process = x`, `merge "x"|driver = x`, "gpg|program = x",
		"credential|helper = x", `remote "o"|url = ext::sh -c x`, `remote "o"|url = -x`, `remote "o"|url = ssh://-oProxyCommand=x/y`,
		`remote "o"|url = x@-o:y`, `remote "o"|url = fd::1`, `remote "o"|uploadpack = x`, `remote "o"|receivepack = x`, `remote "o"|vcs = x`,
		`remote "o"|proxy = x`, `remote "o"|promisor = true`, `remote "o"|fetch = +refs/*:refs/*`, `submodule "s"|update = !x`,
		`submodule "s"|url = ext::x`, "extensions|worktreeConfig = true", "extensions|partialClone = o", "sequence|editor = x",
		`url "ext::x"|insteadOf = https://`, "protocol|allow = always", "uploadpack|packObjectsHook = x", "http|proxy = x",
		"commit|gpgSign = true", "interactive|diffFilter = x", "trailer|x = y", `browser "x"|cmd = x`, "help|browser = x", "init|templateDir = x",
		"status|submoduleSummary = true", "log|showSignature = true", `pager|log = x`, "sendemail|smtpServer = /x", "instaweb|httpd = x",
	} {
		section, set, _ := strings.Cut(line, "|")
		content := "[" + section + "]\n\t" + set + "\n"
		for _, at := range []string{"/w/.git/config", "/w/x/.git/config", "/w/.git/modules/s/config"} {
			assert.False(t, tree(nil).Checked(at).Accepts("", false, content), line)
			assert.False(t, tree(nil).Checked(at).Accepts(cloned, true, cloned+content), line)
		}
	}
	module := tree(nil).Checked("/w/.git/modules/a/s/config")
	for value, want := range map[string]bool{"../../../../a/s": true, "../../../../../x": false, "../../../hooks": false, "/w/s": false,
		"../../../../sub/.git": false} {
		assert.Equal(t, want, module.Accepts("", false, "[core]\n\tworktree = "+value+"\n"), value)
		assert.Equal(t, want, module.Accepts(cloned, true, "[core]\n\tworktree = "+value+"\n"+cloned), value)
	}
}

func TestChecked(t *testing.T) {
	files := map[string]string{"/w/.git/HEAD": "", "/w/.git/worktrees/wt/HEAD": "", "/w/.git/modules/s/HEAD": "", "/w/n/.git/HEAD": "",
		"/w/b/HEAD": "", "/w/b/worktrees/x/HEAD": ""}
	for path, contents := range map[string]map[string]bool{
		"/w/wt/.git": {"gitdir: /w/.git/worktrees/wt\n": true, "gitdir: ../.git/modules/s\n": true, "gitdir: ../.git\n": false,
			"gitdir: /w/n/.git\n": false, "gitdir: /w/b\n": false, "gitdir: /w/b/worktrees/x\n": false, "gitdir: /home/.git/worktrees/wt\n": false,
			"gitdir: ../../.git/modules/s\n": false, "gitdir: /w/.git/worktrees/none\n": false, "x\n": false,
			"gitdir: /w/.git/modules\n": false, "gitdir: /w/.git/worktrees/wt\ngitdir: x\n": false},
		"/w/.git/worktrees/wt/gitdir": {"/w/wt/.git\n": true, "/home/x/.git\n": false, "/w/.git\n": false, "/w/wt/config\n": false,
			"../../../wt/.git\n": true},
		"/w/.git/rebase-merge/git-rebase-todo": {"pick 1\n": true, "exec x\n": false},
		"/w/.git/rebase-merge/strategy":        {"ort\n": true, "x/evil\n": false, "resolve\n": false, "ort x\n": false},
		"/w/.git/worktrees/wt/rebase-merge/strategy_opts": {" --theirs\n": true, "\"theirs\" \"patience\"\n": true,
			"\"index-output=/x\"\n": false,
			" --index-output=/x\n":  false, "theirs\n": false, " --x/y\n": false},
		"/w/.git/rebase-apply/strategy":     {"x/evil\n": false},
		"/w/.git/rebase-merge/gpg_sign_opt": {"-S\n": false},
		"/w/.git/modules/s/sequencer/opts": {"[options]\n\trecord-origin = true\n\tstrategy-option = theirs\n\tmainline = 1\n": true,
			"[options]\n\tstrategy = x/evil\n": false, "[options]\n\tstrategy = ort\n": true, "[options]\n\tgpg-sign = x\n": false,
			"[options]\n\tstrategy-option = index-output=/x\n": false, "[include]\n\tpath = true\n": false, "x\n": false},
	} {
		check := tree(files).Checked(path)
		require.NotNil(t, check, path)
		for content, want := range contents {
			assert.Equal(t, want, check.Accepts("", false, content), "%s: %s", path, content)
		}
	}
	assert.Equal(t, "../..\n", tree(files).Checked("/w/.git/worktrees/wt/commondir").Fixed)
	assert.Equal(t, "\n", tree(files).Checked("/w/.git/rebase-apply/apply-opt").Fixed)
	for _, path := range []string{"/w/.git", "/w/.git/commondir", "/w/.git/gitdir", "/w/.git/hooks/pre-commit", "/w/.git/config.worktree",
		"/w/.git/worktrees/wt/config", "/w/.git/worktrees/wt/config.worktree", "/w/.git/info/attributes", "/w/.git/objects/info/alternates",
		"/w/.git/modules/s/hooks/config", "/w/.git/modules/config", "/w/.git/modules/s/commondir", "/w/b/config", "/w/n/.GIT",
		"/w/.git/remotes/x"} {
		assert.Nil(t, tree(files).Checked(path), path)
	}
	for path, want := range map[string]bool{"/w/.git": true, "/w/n/.git": true, "/w/.git/hooks": true, "/w/.git/branches": true,
		"/w/.git/modules/s/hooks": true, "/w/.git/remotes": false, "/w/.git/config": false, "/w/hooks": false, "/w/n/.Git": false} {
		assert.Equal(t, want, MayBeDirectory(path), path)
	}
}

func TestMayGo(t *testing.T) {
	files := map[string]string{"/w/.git/config": cloned, "/w/n/.git/config": cloned, "/w/u/.git/config": cloned + "[alias]\n\tx = !x\n",
		"/w/.git/modules/s/config": cloned, "/w/n/.git/modules/s/config": cloned}
	for path, want := range map[string]bool{
		"/w/n/.git": true, "/w/n/.git/config": true, "/w/n/.git/HEAD": true, "/w/n/.git/hooks": true, "/w/n/.git/hooks/pre-commit": false,
		"/w/n/.git/info/attributes": false, "/w/n/.git/modules/s/config": true, "/w/.git": false, "/w/.git/config": false,
		"/w/.git/HEAD": false, "/w/.git/modules/s/config": false, "/w/u/.git/config": false, "/w/u/.git/HEAD": false,
		"/w/.git/worktrees/x/commondir": true, "/w/.git/worktrees/x/gitdir": true, "/w/.git/worktrees/x/config.worktree": false,
	} {
		assert.Equal(t, want, tree(files).MayGo(path), path)
	}
}

// A work tree's repository counts if each names the other.
func TestRepository(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write := func(name, content string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(base, name), []byte(content), 0o644))
	}
	for name, content := range map[string]string{
		"main/.git/worktrees/a/gitdir": base + "/a/.git\n", "main/.git/worktrees/a/commondir": "../..\n", "a/.git": "gitdir: " +
			base + "/main/.git/worktrees/a\n",
		"b/.git": "gitdir: ../main/.git/worktrees/a\n", "main/.git/modules/s/config": "[core]\n\tworktree = ../../../s\n",
		"main/s/.git": "gitdir: ../.git/modules/s\n", "main/x/.git": "gitdir: ../.git/modules/s\n", "c/.git": "gitdir: ../main/.git\n",
		"main/.git/worktrees/d/gitdir": base + "/d/.git\n", "main/.git/worktrees/d/commondir": base + "/secret\n",
		"d/.git": "gitdir: ../main/.git/worktrees/d\n",
	} {
		write(name, content)
	}
	for root, want := range map[string]string{"a": "main/.git", "b": "", "main/s": "main/.git/modules/s", "main/x": "", "c": "",
		"d": "", "main": ""} {
		if want != "" {
			want = filepath.Join(base, want)
		}
		assert.Equal(t, want, Repository(filepath.Join(base, root)), root)
	}
}

// A relative path in a configuration is a file in every work tree.
func TestRelative(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", filepath.Join(root, "home"))
	for name, content := range maps.All(map[string]string{
		".git/config":           "[core]\n\thooksPath = .githooks\n[filter \"x\"]\n\tclean = tools/clean --x ~/y /z origin/$1\n[remote \"o\"]\n\turl = ../x\n",
		".git/modules/a/config": "[core]\n\tattributesFile = attrs\n",
		"home/dotfiles/git":     "[core]\n\tfsmonitor = ./watch\n\tpager = less\n",
	}) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o644))
	}
	testneed.Symlink(t, "dotfiles/git", filepath.Join(root, "home", ".gitconfig"))
	assert.ElementsMatch(t, []string{".githooks", "attrs", "tools/clean", "origin/$1", "watch"}, Relative(root))
}
