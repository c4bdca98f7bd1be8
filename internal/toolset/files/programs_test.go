package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestRipgrep(t *testing.T) {
	testneed.Program(t, "rg")
	f := newFixture(t)
	f.write(t, "b.go", "an ERROR\nfine\n")
	f.write(t, "a/x.txt", "no error here\nsecond\nerror again\n")
	f.write(t, "-e", "dashes --error\n")
	f.write(t, "c.go", "nothing of it\n")
	for params, want := range map[string]string{
		`{"pattern":"ERR","args":"-g *.go --color never"}`:         "b.go:1:an ERROR\n",
		`{"pattern":"ERR","args":"--glob *.{c,go} --color=never"}`: "b.go:1:an ERROR\n",
		`{"pattern":"ERR","args":"-l *.go"}`:                       "b.go\n",
		`{"pattern":"error"}`: "-e:1:dashes --error\na/x.txt:1:no error " +
			"here\na/x.txt:3:error again\n",
		`{"pattern":"error","args":"--ignore-case b.go"}`:           "1:an ERROR\n",
		`{"pattern":"error","args":"-i -g '*.go'"}`:                 "b.go:1:an ERROR\n",
		`{"pattern":"^e.*n$","args":"a"}`:                           "a/x.txt:3:error again\n",
		`{"pattern":"ERR","args":"-tgo -c"}`:                        "b.go:1\n",
		`{"pattern":"--error","args":"-F"}`:                         "-e:1:dashes --error\n",
		`{"pattern":"-e"}`:                                          "-e:1:dashes --error\n",
		`{"pattern":"second","args":"-NC1 a/x.txt"}`:                "no error here\nsecond\nerror again\n",
		`{"pattern":"absent","args":"-c --include-zero b.go"}`:      "No matches found\n0\n",
		`{"pattern":"absent","args":"--passthru -N b.go"}`:          "No matches found\nan ERROR\nfine\n",
		`{"pattern":"nothing like it"}`:                             "No matches found",
		`{"pattern":"ERR","args":"-g *.none"}`:                      "No matches found",
		`{"pattern":"ERR","args":"-t rust"}`:                        "No matches found",
		`{"pattern":"again","args":"--files-with-matches a/*.txt"}`: "a/x.txt\n",
	} {
		assert.Equal(t, want, f.text(t, "rg", params), params)
	}
	f.fails(t, tool.InvalidArgument, "search pattern cannot be empty", "rg", `{"pattern":""}`)
	f.fails(t, tool.CommandFailed, "exit code 2", "rg", `{"pattern":"("}`)
	f.fails(t, tool.InvalidArgument, "use glob or list_files", "rg", `{"pattern":"x","args":"--files"}`)
	f.fails(t, tool.InvalidArgument, "--type-list", "rg", `{"pattern":"x","args":"--type-list"}`)
	_, err := f.call(t, "rg", `{"pattern":"x","args":"--folow"}`)
	assert.NotContains(t, err.Error(), "did you mean --follow", "it would be refused")
}

func TestRipgrepShowsWhatItFoundBesideWhatItCouldNotRead(t *testing.T) {
	testneed.NotShort(t, "compares the words of another program")
	testneed.Program(t, "rg")
	f := newFixture(t)
	f.write(t, "a.txt", "hit\n")
	assert.Equal(t, "a.txt:1:hit\nstderr:\nnone.txt: IO error for operation on none.txt: No such file or directory (os error 2)\n",
		strings.Replace(f.text(t, "rg", `{"pattern":"hit","args":"-H a.txt none.txt"}`), "rg: none.txt", "none.txt", 1))
	f.fails(t, tool.CommandFailed, "none.txt", "rg", `{"pattern":"no hit","args":"a.txt none.txt"}`)
}

func TestRipgrepRefusesWhatLeadsOut(t *testing.T) {
	f := newFixture(t)
	f.write(t, "a.txt", "x\n")
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("x\n"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(f.root, "link")))
	for _, args := range []string{
		"--pre cat", "--pre=cat", "--pr=cat", "--pre-glob '*'", "--pre-g=x", "--hostname-bin=id", "--hostname-bin id",
		"-z", "--search-zip", "--search-z", "-nz", "-zl", "-L", "--follow", "-iL", "-iLn", "--config x", "--debug",
		"-f " + outside, "-f" + outside, "-nf" + outside, "--file=" + outside, "--file " + outside, "--fil=" + outside,
		"--ignore-file=/etc/passwd", "/etc", "..", "../", "-- ..", "link", "a.txt /etc/passwd", "-e x /etc",
		"-e x -- /etc", "~/x /", "$HOME", "a; id", "$(id)", "`id`", "| sh", "> out", "a &",
	} {
		_, err := f.call(t, "rg", string(tool.MustMarshal(map[string]string{"pattern": "x", "args": args})))
		if assert.Error(t, err, args) {
			assert.Contains(t, []tool.Code{tool.InvalidArgument, tool.PathOutsideWorkspace, tool.Blocked},
				tool.CodeOf(err), args)
		}
	}
}

func repo(t *testing.T) *fixture {
	t.Helper()
	testgit.Isolate(t) // for the tools' git too
	f := newFixture(t)
	f.write(t, "f.txt", "one\ntwo\n")
	testgit.Init(t, f.root)
	return f
}

func (f *fixture) git(t *testing.T, args ...string) string {
	t.Helper()
	return testgit.Run(t, f.root, args...)
}

func TestGitDiff(t *testing.T) {
	f := repo(t)
	assert.Equal(t, "No changes found in working directory", f.text(t, "git_diff", `{}`))
	f.write(t, "new.txt", "not known to git\n")
	const untracked = "No changes found in working directory\n1 new file is not tracked: new.txt"
	assert.Equal(t, untracked, f.text(t, "git_diff", `{}`))
	f.write(t, "f.txt", "one\n2\n")
	assert.Equal(t, f.git(t, "diff"), f.text(t, "git_diff", `{}`))
	f.git(t, "add", "f.txt")
	assert.Equal(t, untracked, f.text(t, "git_diff", `{}`))
	f.write(t, "dir/ö.txt", "in a directory\n")
	f.write(t, ".git/info/exclude", "*.log\n")
	f.write(t, "a.log", "ignored\n")
	assert.Equal(t, "No changes found in working directory\n2 new paths are not tracked: dir/, new.txt",
		f.text(t, "git_diff", `{}`))
	f.write(t, "ü.txt", "one\n")
	f.git(t, "add", "ü.txt")
	f.write(t, "ü.txt", "two\n")
	assert.Contains(t, f.text(t, "git_diff", `{}`), "+++ b/ü.txt\n")

	none := newFixture(t)
	none.fails(t, tool.NotFound, "not in a git repository", "git_diff", `{}`)
}

func TestGitDiffInALinkedWorkTree(t *testing.T) {
	main := repo(t)
	f := newFixture(t)
	require.NoError(t, os.Remove(f.root))
	main.git(t, "worktree", "add", "-q", f.root)
	linked := reopen(t, f.root)
	linked.write(t, "f.txt", "changed\n")
	assert.Contains(t, linked.text(t, "git_diff", `{}`), "+changed")
}

func TestGitDiffKeepsToTheWorkspace(t *testing.T) {
	f := repo(t)
	f.write(t, "sub/g.txt", "a\n")
	f.git(t, "add", ".")
	f.git(t, "commit", "-qm", "second")
	f.write(t, "f.txt", "above the workspace\n")
	sub := reopen(t, filepath.Join(f.root, "sub"))
	assert.Equal(t, "No changes found in working directory", sub.text(t, "git_diff", `{}`))
	f.write(t, "sub/g.txt", "b\n")
	assert.Contains(t, sub.text(t, "git_diff", `{}`), "+++ b/g.txt\n")
	assert.NotContains(t, sub.text(t, "git_diff", `{}`), "above")
}

// A repository may be untrusted, and its configuration names programs.
func TestGitDiffRunsNothing(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	evil := "touch '" + marker + "'; cat"
	config := func(lines ...string) func(*testing.T, *fixture) {
		return func(t *testing.T, f *fixture) {
			path := filepath.Join(f.root, ".git", "config")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			text := string(data) + strings.ReplaceAll(strings.Join(lines, "\n"), "EVIL", evil) + "\n"
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	attributes := func(line string, next func(*testing.T, *fixture)) func(*testing.T, *fixture) {
		return func(t *testing.T, f *fixture) {
			f.write(t, ".gitattributes", line+"\n")
			next(t, f)
		}
	}
	attacks := map[string]func(*testing.T, *fixture){
		"fsmonitor":       config("[core]", `fsmonitor = "EVIL"`),
		"external diff":   config("[diff]", `external = "EVIL"`),
		"pager":           config("[core]", `pager = "EVIL"`, "[pager]", `diff = "EVIL"`),
		"textconv":        attributes("* diff=x", config(`[diff "x"]`, `textconv = "EVIL"`)),
		"diff command":    attributes("* diff=x", config(`[diff "x"]`, `command = "EVIL"`)),
		"clean filter":    attributes("* filter=x", config(`[filter "x"]`, `clean = "EVIL"`)),
		"required filter": attributes("* filter=x", config(`[filter "x"]`, `clean = "EVIL"`, "required = true")),
		"process filter":  attributes("* filter=x", config(`[filter "x"]`, `process = "EVIL"`)),
		"filter with =":   attributes("* filter=a=b", config(`[filter "a=b"]`, `clean = "EVIL"`)),
		"filter by include": attributes("* filter=x", func(t *testing.T, f *fixture) {
			f.write(t, ".git/more", "[filter \"x\"]\nclean = \""+evil+"\"\n")
			config("[include]", "path = more")(t, f)
		}),
		"hook": func(t *testing.T, f *fixture) {
			f.write(t, ".git/hooks/post-index-change", "#!/bin/sh\n"+evil+"\n")
			require.NoError(t, os.Chmod(filepath.Join(f.root, ".git/hooks/post-index-change"), 0o755))
		},
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			f := repo(t)
			attack(t, f)
			f.write(t, "f.txt", "one\nchanged\n")
			assert.Contains(t, f.text(t, "git_diff", `{}`), "+changed")
			assert.NoFileExists(t, marker)
			if name == "pager" || name == "hook" {
				return // plain git runs these on a terminal, or when it writes the index
			}
			_ = testgit.Command(t, f.root, "diff").Run() // checks that the attack works
			assert.FileExists(t, marker)
			require.NoError(t, os.Remove(marker))
		})
	}
}

func TestGitDiffShowsNoOtherRepositoryAndNoOtherTree(t *testing.T) {
	secret := repo(t)
	secret.write(t, "f.txt", "top secret\n")

	f := newFixture(t)
	f.write(t, ".git", "gitdir: "+secret.root+"/.git\n")
	f.fails(t, tool.Blocked, "does not know of it", "git_diff", `{}`)

	f = newFixture(t)
	require.NoError(t, os.Symlink(secret.root+"/.git", filepath.Join(f.root, ".git")))
	f.fails(t, tool.Blocked, "does not know of it", "git_diff", `{}`)

	f = repo(t)
	f.git(t, "config", "core.worktree", secret.root)
	assert.NotContains(t, f.text(t, "git_diff", `{}`), "secret")
}
