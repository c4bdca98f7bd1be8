package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// prelude sets an author for git, and allows a local path for a submodule.
const prelude = `set -e; exec 2>&1
export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e GIT_EDITOR=true
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
export GIT_CONFIG_KEY_1=init.defaultBranch GIT_CONFIG_VALUE_1=main
c() { git add -A; git commit -qm "$1"; }
`

// diverged makes two branches: one changes a file twice that the other removed.
const diverged = `git init -q; echo a > a; echo 1 > b; c one; git checkout -qb side; echo b > a; echo 2 > b; c two; echo 3 > b; c three; ` +
	`git checkout -q main; git rm -q a; c gone; `

// gitLife is typical use of git, in a workspace without a repository.
var gitLife = []struct{ name, script, want string }{
	{"init", `git init -q; git config --get core.filemode; echo a > a; c one; git log --format=%s; git status --short`,
		"true\none\n"},
	{"init below", `mkdir sub; git init -q sub; cd sub; git config user.email x@example.com; git remote add origin ` +
		`https://example.com/x.git; git remote set-url origin ../y; git remote -v | cut -f2; echo a > a; c one; git log --format=%s`,
		"../y (fetch)\n../y (push)\none\n"},
	{"rebase", `git init -q; echo a > a; c one; git checkout -qb side; echo b > a; c two; git checkout -q main; echo c > a; ` +
		`c three; git checkout -q side; ! git rebase -q main >/dev/null 2>&1; echo d > a; git add a; git rebase --continue >/dev/null; ` +
		`git log --format=%s`, "two\nthree\none\n"},
	{"rebase with options", diverged + `git checkout -q side; ! git rebase -q -Xtheirs main >/dev/null 2>&1; ` +
		`cat .git/rebase-merge/strategy; grep -o theirs .git/rebase-merge/strategy_opts; git rm -q a; git rebase --continue >/dev/null; ` +
		`git log --format=%s; cat b; ls .git | grep rebase || true`,
		"ort\ntheirs\nthree\ntwo\ngone\none\n3\n"},
	{"cherry-pick", diverged + `! git cherry-pick -x main..side >/dev/null 2>&1; git rm -q a; git cherry-pick --continue >/dev/null; ` +
		`git log --format=%s; ls .git/sequencer 2>/dev/null || git show -s | grep -c cherry`, "three\ntwo\ngone\none\n1\n"},
	{"am", diverged + `git format-patch -q -o p main..side; ! git am -q p/* >/dev/null 2>&1; echo 2 > b; git add b; git am -q --continue; ` +
		`git log --format=%s; ! git am p/* >/dev/null 2>&1; git am --abort; ls .git | grep rebase || true`, "three\ntwo\ngone\none\n"},
	{"stash", `git init -q; echo a > a; c one; echo b > a; git stash -q; cat a; git stash pop -q; cat a`, "a\nb\n"},
	{"bisect", `git init -q; for n in 1 2 3 4 5 6; do echo $n > a; c $n; done; git bisect start HEAD HEAD~5 >/dev/null; ` +
		`git bisect run sh -c 'test $(cat a) -lt 4' >/dev/null; git show -s --format=%s bisect/bad; git bisect reset 2>/dev/null`, "4\n"},
	{"clone", `git init -q src; (cd src; echo a > a; c one); git clone -q src copy; cd copy; git pull -q; echo b > a; c two; ` +
		`git checkout -qb x origin/main; git branch -qd x 2>/dev/null || git checkout -q main; git log --format=%s; cd ..; rm -rf copy; ls`,
		"two\none\nsrc\n"},
	{"worktree", `git init -q; echo a > a; c one; git worktree add -q wt -b side; cd wt; git status --short; echo b > b; c two; ` +
		`git log --format=%s; cd ..; git worktree list | wc -l; git worktree remove wt; git worktree list | wc -l; ls`,
		"two\none\n2\n1\na\n"},
	{"submodule", `git init -q lib; (cd lib; echo a > a; c lib); git init -q app; cd app; git submodule --quiet add "$PWD/../lib" lib; ` +
		`c app; cd lib; echo b > b; c more; git log --format=%s; cd ..; git status --short; git submodule --quiet update; ` +
		`cd ..; git clone -q --recurse-submodules app copy; cat copy/lib/a`, "more\nlib\n M lib\na\n"},
	{"submodule of the root",
		`mkdir x; git init -q x/lib; (cd x/lib; echo a > a; c lib); echo x > .gitignore; git init -q; git submodule --quiet add ./x/lib lib; ` +
			`c app; git -C lib log --format=%s; git submodule --quiet update --init; git -C lib status --short`, "lib\n"},
	{"what runs programs", `git init -q; mkdir n; git init -q n; for r in . n; do for a in core.fsmonitor=x core.hooksPath=h ` +
		`diff.external=x alias.s=!x include.path=../x remote.o.url=ext::x remote.o.uploadpack=x core.sshCommand=x ` +
		`core.worktree=/ extensions.worktreeConfig=true filter.x.clean=x; do ` +
		`git -C $r config ${a%%=*} "${a#*=}" 2>/dev/null && echo $r $a; done; done; cat n/.git/config | grep -c =`, "4\n"},
	{"bare", `git init -q --bare b 2>/dev/null && echo made; git -C b rev-parse --is-bare-repository 2>/dev/null; ls b | grep -x HEAD`, ""},
}

func TestGitLife(t *testing.T) {
	testneed.Program(t, "git")
	for _, test := range gitLife {
		t.Run(test.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T, level sandbox.Level) {
				p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
				r := sh(t, p, prelude+test.script)
				assert.Equal(t, test.want, r.Stdout.String())
			})
		})
	}
}

// The workspace's repository keeps what git recognises it by: git would take another directory for it.
func TestOwnRepositoryStaysOne(t *testing.T) {
	testneed.Program(t, "git")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		testgit.Run(t, dir, "init", "-q")
		r := sh(t, sandbox.Policy{Level: level, Workspace: dir}, `for f in HEAD refs objects; do
			rm -r .git/$f; rmdir .git/$f/*; rmdir .git/$f; mv .git/$f gone; test -e .git/$f && echo $f; done 2>/dev/null; true`)
		assert.Equal(t, "HEAD\nrefs\nobjects\n", r.Stdout.String())
	})
}

// TestCommitElsewhere commits in a workspace that is a linked work tree or a submodule, with its repository
// outside.
func TestCommitElsewhere(t *testing.T) {
	testneed.Program(t, "git")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		out, err := exec.Command("sh", "-c", prelude+`cd `+dir+`; git init -q lib; (cd lib; echo a > a; c lib); git init -q app; `+
			`cd app; git submodule --quiet add "$PWD/../lib" sub; c app; git worktree add -q ../linked`).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, name := range []string{"linked", "app/sub"} {
			p := sandbox.Policy{Level: level, Workspace: filepath.Join(dir, name)}
			r := sh(t, p, prelude+`echo b > b; c two; git log -1 --format=%s; git gc -q; git status --short
				for f in config hooks/pre-commit commondir config.worktree; do echo x > $(git rev-parse --git-common-dir)/$f; done`)
			assert.Contains(t, r.Stdout.String(), "two\n", name)
			assert.NotContains(t, r.Stdout.String(), "fatal", name)
			for _, at := range []string{"app/.git", "app/.git/modules/sub"} {
				data, err := os.ReadFile(filepath.Join(dir, at, "config"))
				require.NoError(t, err)
				assert.Contains(t, string(data), "repositoryformatversion")
				assert.NoFileExists(t, filepath.Join(dir, at, "hooks/pre-commit"))
				assert.NoFileExists(t, filepath.Join(dir, at, "commondir"))
			}
		}
		// A .git file that the repository does not know opens nothing.
		stranger := filepath.Join(dir, "stranger")
		testfile.Write(t, filepath.Join(stranger, ".git"), "gitdir: "+filepath.Join(dir, "app/.git/worktrees/linked")+"\n")
		r := sh(t, sandbox.Policy{Level: level, Workspace: stranger}, prelude+"git commit --allow-empty -qm x")
		assert.NotZero(t, r.ExitCode, r.Stdout.String())
	})
}
