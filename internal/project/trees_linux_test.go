package project

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// treeTools run a script: directly, reviewed, and confined at the weaker level by the sandbox block.
const treeTools = `workspace { allow = ["../shared"] }
sandbox { level = "%s" }
tool "sh" {
  description = "Run. Returns: output."
  param "script" { type = string }
  command {
    argv  = ["sh"]
    stdin = param.script
  }
}
tool "reviewed" {
  description = "Run. Returns: output."
  param "script" { type = string }
  command {
    argv  = ["sh"]
    stdin = param.script
  }
}
policy {
  rule "r" {
    tool    = "reviewed"
    action  = "review"
    files   = 500
    deletes = true
  }
}
`

// treeNames are parts of paths, and treeTexts what is written to them. CANARY stands for a command that
// reports that it ran, REACHED for a file that must not be made.
var (
	treeDirs  = []string{".", "sub", "wt", "n", "lib", "b", "link", "sub/x", "../shared", "../shared/s"}
	treeIn    = []string{".", ".git", ".git/modules/lib", ".git/worktrees/wt", ".git/info", ".git/hooks", ".git/objects/info", "x"}
	treeNames = []string{"HEAD", "config", "commondir", "gitdir", "config.worktree", "hooks/pre-commit", "hooks/post-checkout",
		"hooks/post-index-change", "hooks/fsmonitor.sample", "hooks", "objects", "refs", "refs/heads/main", "info/attributes",
		"objects/info/alternates", "attributes", "alternates", "pre-commit", ".git", ".gitattributes", ".gitmodules", "modules", "worktrees",
		"index", "packed-refs", "rebase-merge/git-rebase-todo", "rebase-merge/strategy", "sequencer/opts", "rebase-apply/apply-opt",
		"remotes/origin", "branches/origin", ".githooks/pre-commit",
		"tools/clean", "git.inc", "a", "config.lock", "FETCH_HEAD", "evil", "git~1", ".GIT", "logs/HEAD", "shallow"}
	treeTexts = []string{
		"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = CANARY\n",
		"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = CANARY\n\thooksPath = .githooks\n\tpager = CANARY\n\tsshCommand = CANARY\n" +
			"[diff]\n\texternal = CANARY\n[filter \"c\"]\n\tclean = CANARY\n\tsmudge = CANARY\n[diff \"c\"]\n\ttextconv = CANARY\n",
		"[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
		"[core] fsmonitor = CANARY\n", "[include]\n\tpath = ../git.inc\n", "[include]\n\tpath = evil\n",
		"[core]\n\tworktree = ../../../sub\n\tfsmonitor = CANARY\n", "[remote \"origin\"]\n\turl = ext::CANARY\n\tuploadpack = CANARY\n",
		"[extensions]\n\tworktreeConfig = true\n", "[submodule \"lib\"]\n\tpath = lib\n\turl = ../x\n\tupdate = !CANARY\n",
		"ref: refs/heads/main\n", "gitdir: ../evil\n", "gitdir: ../.git/worktrees/wt\n", "gitdir: ../b\n", "gitdir: .git\n",
		"gitdir: ../.git/modules/lib\n",
		"../..\n", "../evil\n", ".\n", "#!/bin/sh\nCANARY\n", "* filter=c diff=c\n", "exec CANARY\n", "pick 1 x\nexec CANARY\n",
		"/nowhere/objects\n", "x\n",
		"URL: ext::CANARY\n", "x/evil\n", "[options]\n\tstrategy = x/evil\n", " '--build-fake-ancestor=REACHED'\n",
	}
	treeSettings = []string{"core.fsmonitor CANARY", "core.hooksPath .githooks", "diff.external CANARY", "include.path ../evil",
		"core.worktree ../sub",
		"filter.c.clean CANARY", "remote.origin.url ext::CANARY", "core.bare true", "extensions.worktreeConfig true", "user.name x",
		"branch.main.remote origin", "remote.origin.url ../sub", "core.pager CANARY", "log.showSignature true", "gpg.program CANARY"}
)

// treeRecipes are known ways to make git run something; their lines are mixed with others. D is a
// directory.
var treeRecipes = [][]string{
	{"mkdir -p D", "mkdir -p D/objects", "mkdir -p D/refs", "printf 'ref: refs/heads/main\\n' > D/HEAD",
		"printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = CANARY\\n' > D/config"},
	{"mkdir -p D/o D/r", "printf 'ref: refs/heads/main\\n' > D/h", "printf '[core]\\n\\tfsmonitor = CANARY\\n' > D/config", "mv D/h D/HEAD",
		"mv D/o D/objects", "mv D/r D/refs"},
	{"mv D/.git/HEAD D/.git/H", "mkdir D/objects D/refs", "printf 'ref: refs/heads/main\\n' > D/HEAD",
		"printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = CANARY\\n' > D/config"},
	{"cp -r D/.git evil", "rm -f evil/commondir", "printf '[core]\\n\\tfsmonitor = CANARY\\n' >> evil/config",
		"echo ../evil > D/.git/commondir",
		"rm -rf D/.git", "mv evil D/.git", "echo 'gitdir: evil' > D/.git", "ln -s evil D/.git", "ln -s ../evil/config D/.git/config"},
	{"git init -q D", "git -C D config core.fsmonitor CANARY", "printf '[core]\\n\\tfsmonitor = CANARY\\n' >> D/.git/config"},
	{"git init -q D", "printf '#!/bin/sh\\nCANARY\\n' > D/.git/hooks/post-index-change", "chmod +x D/.git/hooks/post-index-change"},
	{"git init -q D/x", "printf '[core]\\n\\tfsmonitor = CANARY\\n' > D/c", "mv D/c D/x/.git/config", "rm -f D/x/.git/config", "mv D/x D/y",
		"cp D/c D/y/.git/config", "ln D/c D/x/.git/config"},
	{"git -C D worktree add -f -q sub/x", "echo ../../../evil > .git/worktrees/x/commondir", "rm -f .git/worktrees/x/commondir",
		"printf '[core]\\n\\tfsmonitor = CANARY\\n' > .git/worktrees/x/config.worktree", "git -C D config extensions.worktreeConfig true",
		"mkdir -p .git/worktrees/x/objects .git/worktrees/x/refs", "printf '[core]\\n\\tfsmonitor = CANARY\\n' > .git/worktrees/x/config"},
	{"printf '#!/bin/sh\\nCANARY\\n' > t", "chmod +x t", "mkdir -p D/.githooks D/tools", "cp t D/.githooks/post-checkout",
		"cp t D/tools/clean", "mv t D/.githooks/pre-commit",
		"printf '* filter=c\\n' > D/.gitattributes", "printf '[core]\\n\\tfsmonitor = CANARY\\n' > git.inc"},
	{"mkdir -p D/.git/rebase-merge", "echo 'exec CANARY' > D/.git/rebase-merge/git-rebase-todo", "echo 'exec CANARY' > t",
		"mv t D/.git/rebase-merge/git-rebase-todo"},
	{"mkdir -p git-merge-x", "printf '#!/bin/sh\\nCANARY\\n' > t", "chmod +x t", "mv t git-merge-x/evil",
		"echo x/evil > .git/rebase-merge/strategy",
		"printf '[options]\\n\\tstrategy = x/evil\\n' > opts", "mv opts .git/sequencer/opts",
		"echo \" '--build-fake-ancestor=REACHED'\" > apply-opt",
		"cat apply-opt > .git/rebase-apply/apply-opt", "mv .git/rebase-apply r", "mv apply-opt r", "mv r .git/rebase-apply"},
	{"git -C D config remote.origin.url 'ext::CANARY'", "git -C D config remote.origin.uploadpack CANARY",
		"git -C D config remote.origin.url ../sub"},
	{"mkdir -p D/.git/modules/m/objects D/.git/modules/m/refs", "printf 'ref: refs/heads/main\\n' > D/.git/modules/m/HEAD",
		"printf '[core]\\n\\tfsmonitor = CANARY\\n' > D/c", "mv D/c D/.git/modules/m/config", "mkdir -p D/m",
		"echo 'gitdir: ../.git/modules/m' > D/m/.git"},
	{"git init -q --bare D", "git -C D config core.fsmonitor CANARY", "git -C D config core.bare false", "git -C D config core.worktree ."},
}

var placeD = regexp.MustCompile(`\bD\b`)

func treeSteps(r *rand.Rand) (steps []string) {
	for range 1 + r.IntN(3) {
		recipe := slices.Clone(treeRecipes[r.IntN(len(treeRecipes))])
		if r.IntN(3) == 0 {
			r.Shuffle(len(recipe), func(i, j int) { recipe[i], recipe[j] = recipe[j], recipe[i] })
		}
		dir := treeDirs[r.IntN(len(treeDirs))]
		for _, line := range recipe {
			if r.IntN(6) == 0 {
				steps = append(steps, treeStep(r))
			}
			if r.IntN(12) != 0 {
				steps = append(steps, placeD.ReplaceAllString(line, dir))
			}
		}
	}
	for range r.IntN(5) {
		steps = append(steps, treeStep(r))
	}
	return steps
}

func treeStep(r *rand.Rand) string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	path := func() string { return filepath.Join(pick(treeDirs), pick(treeIn), pick(treeNames)) }
	dir := func() string { return filepath.Join(pick(treeDirs), pick(treeIn)) }
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	write := func(to string) string {
		return "mkdir -p " + filepath.Dir(to) + "; printf %s " + quoted(pick(treeTexts)) + " > " + to
	}
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4:
		return write(path())
	case 5:
		return write("t") + "; chmod +x t; mv t " + path()
	case 6:
		return "mkdir -p " + path()
	case 7:
		return "mv " + path() + " " + path()
	case 8:
		return "mv " + dir() + " " + dir()
	case 9:
		return "ln -sfn " + pick([]string{"../evil", "../b", ".git", "../../shared", "sub", "evil"}) + " " + path()
	case 10:
		return "ln -f " + path() + " " + path()
	case 11:
		return "rm -rf " + pick([]string{path(), dir()})
	case 12:
		return "cp -r " + dir() + " " + dir()
	case 13:
		return "git init -q " + pick(treeDirs)
	case 14:
		return "git clone -q " + pick(treeDirs) + " " + dir()
	case 15:
		return "git -C " + pick(treeDirs) + " worktree add -q -f " + pick([]string{"wt", "sub/x", "n", "../wt"})
	case 16, 17:
		return "git -C " + dir() + " config " + pick(treeSettings)
	case 18:
		return "git -C " + pick(treeDirs) + " submodule --quiet add -f ./sub " + pick([]string{"lib", "n", "b"})
	}
	return "cd " + pick(treeDirs) + " && git add -A && git commit -qm x --no-verify; cd \"$TOP\""
}

// treeConflict makes two branches that do not merge by themselves.
const treeConflict = "git checkout -qb side; echo b > a; git commit -qam b; echo b > b; git add b; git commit -qm b2; git checkout -q main; " +
	"echo c > a; git commit -qam c; echo c > c; git add c; git commit -qm c2; "

// treeBases are the user's earlier state, as scripts in the workspace.
var treeBases = []string{
	"", "git init -q; echo a > a; git add a; git commit -qm a",
	"git init -q; echo a > a; git add a; git commit -qm a; git worktree add -q wt; git init -q sub; cd sub; echo b > b; git add b; git commit -qm b; " +
		"cd ..; git submodule --quiet add ./sub lib; git commit -qm lib",
	"git init -q; echo a > a; git add a; git commit -qm a; git config core.hooksPath .githooks; git config include.path ../git.inc; " +
		"git config filter.c.clean tools/clean; git worktree add -q wt; " + treeConflict + "git rebase -q side",
	"git init -q; echo a > a; git add a; git commit -qm a; " + treeConflict + "git cherry-pick main..side",
	"git init -q; echo a > a; git add a; git commit -qm a; " + treeConflict + "git format-patch -q -o ../p main..side; git am -q ../p/*",
	"git init -q --bare b; git init -q sub; cd ../shared; git init -q; echo a > a; git add a; git commit -qm a",
}

// userScript is what a user, a prompt and an editor do in each directory. What git runs depends on the
// repository that it finds: for one found before, the rest is skipped. Some of it is done only in some
// trees.
const userScript = `seen=
find . ../shared '(' -name objects -o -name logs -o -name refs -o -name .agent ')' -prune -o -type d -print | while read -r d; do cd "$TOP/$d" || continue
found=$(git rev-parse --absolute-git-dir --is-inside-git-dir --is-bare-repository --show-toplevel </dev/null)
if [ "$found" ]; then case "$seen" in *"<$found>"*) continue;; esac; fi
seen="$seen<$found>"
(git status --short; git log -p -1 --oneline; git diff
if [ "$MORE" ]; then git rev-parse --short HEAD; git diff --cached --quiet; git describe --all; git ls-files --others; git stash list; git fetch -q; git submodule status
for o in rebase cherry-pick am; do echo d > a; git add a; git $o --continue; done; git commit -q --allow-empty -m x; git checkout -q HEAD~0; git checkout -q -; fi) </dev/null; done >/dev/null 2>&1`

func userGit(t *testing.T, dir, home, script string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_EDITOR=true", "GIT_SSH_COMMAND=false", "TOP=" + dir}, env...)
	_ = cmd.Run()
}

// trees is the number of trees, or TOOLHOST_TEST_TREES.
func trees() int {
	if count, err := strconv.Atoi(os.Getenv("TOOLHOST_TEST_TREES")); err == nil {
		return count
	}
	return 20
}

// TestTreesOfGit makes random trees by file tools, commands and reviewed calls. The user's git must run
// nothing of them.
func TestTreesOfGit(t *testing.T) {
	testneed.NotShort(t, "makes many repositories")
	testneed.Program(t, "git")
	seed := testneed.Seed(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	g := newTreeMaker(t)
	for n := range trees() {
		level := []sandbox.Level{sandbox.Full, sandbox.Landlock}[n%2]
		g.tree(t, level, rand.New(rand.NewPCG(seed, uint64(n))), fmt.Sprintf("seed %d tree %d level %s", seed, n, level))
		if t.Failed() {
			return
		}
		if n%50 == 49 {
			t.Logf("%d trees, nothing ran", n+1)
		}
	}
	// Control: the effect of the same steps unconfined.
	reached, tried := 0, 0
	for ; tried < 20 && (reached == 0 || trees() > 20); tried++ {
		r := rand.New(rand.NewPCG(seed, uint64(tried)))
		dir := g.arena(t, treeBases[r.IntN(len(treeBases))])
		userGit(t, filepath.Join(dir, "ws"), g.home, g.fill(strings.Join(treeSteps(r), "\n")))
		reached += len(g.look(t, dir, r))
	}
	t.Logf("unconfined, %d of %d trees have git run something", reached, tried)
	assert.NotZero(t, reached, "the steps would make git run something")
}

type treeMaker struct{ base, home, canary, reached string }

func newTreeMaker(t *testing.T) *treeMaker {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	g := &treeMaker{base: base, home: filepath.Join(base, "home"), reached: filepath.Join(base, "reached")}
	require.NoError(t, os.Mkdir(g.reached, 0o755))
	g.canary = filepath.Join(base, "canary")
	testfile.Write(t, g.canary, "#!/bin/sh\ntouch "+g.reached+"/x\nexit 1\n")
	require.NoError(t, os.Chmod(g.canary, 0o755))
	testfile.Write(t, filepath.Join(g.home, ".gitconfig"), "[safe]\n\tdirectory = *\n[user]\n\tname = n\n\temail = e\n[init]\n\t"+
		"defaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")
	return g
}

func (g *treeMaker) fill(text string) string {
	return strings.NewReplacer("CANARY", g.canary, "REACHED", filepath.Join(g.reached, "file")).Replace(text)
}

// arena makes a workspace and an allowed directory beside it.
func (g *treeMaker) arena(t *testing.T, script string) string {
	dir, err := os.MkdirTemp(g.base, "tree")
	require.NoError(t, err)
	for _, name := range []string{"ws", "shared"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	userGit(t, filepath.Join(dir, "ws"), g.home, script)
	return dir
}

// look runs the user's git everywhere, and returns what ran.
func (g *treeMaker) look(t *testing.T, dir string, r *rand.Rand) (ran []string) {
	more := ""
	if r.IntN(4) == 0 {
		more = "MORE=1"
	}
	userGit(t, filepath.Join(dir, "ws"), g.home, userScript, more)
	entries, err := os.ReadDir(g.reached)
	require.NoError(t, err)
	for _, e := range entries {
		ran = append(ran, e.Name())
		require.NoError(t, os.Remove(filepath.Join(g.reached, e.Name())))
	}
	return ran
}

func (g *treeMaker) tree(t *testing.T, level sandbox.Level, r *rand.Rand, name string) {
	dir := g.arena(t, treeBases[r.IntN(len(treeBases))])
	ws := filepath.Join(dir, "ws")
	file := filepath.Join(ws, "agent.hcl")
	testfile.Write(t, file, fmt.Sprintf(treeTools, level))
	p := openTest(t, file)
	session := p.Host.Session("s")
	var done []string
	call := func(tool string, params map[string]string) {
		data, err := json.Marshal(params)
		require.NoError(t, err)
		done = append(done, tool+" "+string(data))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		session.Call(ctx, host.Request{Tool: tool, Params: data})
	}
	export := "export TOP=\"$PWD\" GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e GIT_CONFIG_COUNT=1 " +
		"GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always; exec 2>&1\n"
	for range 1 + r.IntN(3) {
		switch r.IntN(5) {
		case 0:
			for range 1 + r.IntN(6) {
				call("write_file", map[string]string{"content": g.fill(treeTexts[r.IntN(len(treeTexts))]),
					"path": filepath.Join(treeDirs[r.IntN(len(treeDirs))], treeIn[r.IntN(len(treeIn))], treeNames[r.IntN(len(treeNames))])})
			}
		default:
			tool := "sh"
			if level == sandbox.Full && r.IntN(4) == 0 {
				tool = "reviewed"
			}
			call(tool, map[string]string{"script": export + g.fill(strings.Join(treeSteps(r), "\n"))})
		}
	}
	p.Close()
	if ran := g.look(t, dir, r); !assert.Empty(t, ran, name) {
		t.Logf("%s\n%s", dir, strings.Join(slices.Clone(done), "\n"))
		return
	}
	require.NoError(t, exec.Command("rm", "-rf", dir).Run())
}
