package attack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// planting is a tool that runs a shell script.
const planting = "tool \"plant\" {\n  description = \"Run. Returns: output.\"\n  param \"script\" {\n    type = string\n  }\n" +
	"  command {\n    argv  = [\"sh\"]\n    stdin = param.script\n  }\n}\n"

// commonDirectory has git read its configuration from elsewhere in the work tree.
const commonDirectory = `cp -r .git evil && rm -f evil/commondir && printf '[core]\n\tfsmonitor = touch PWNED; ` +
	`false\n' >> evil/config && echo ../evil > .git/commondir; `

func planted(t *testing.T, script string) string {
	t.Helper()
	data, err := json.Marshal(map[string]string{"script": script})
	require.NoError(t, err)
	return string(data)
}

// repositoryIn makes a repository in a directory, as the user.
func (a *arena) repositoryIn(dir string) {
	a.t.Helper()
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "add", "ok.txt"},
		{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"}} {
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(a.t, err, "%s", out)
	}
}

// repositoryWithSettings makes the workspace a repository whose configuration names files in it.
func (a *arena) repositoryWithSettings() {
	a.t.Helper()
	a.repositoryIn(a.ws)
	a.shellIn(a.ws, "git config core.hooksPath .githooks; git config include.path ../git.inc")
}

// shellIn runs a script in a directory as the tests' user.
func (a *arena) shellIn(dir, script string) {
	a.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(a.t, err, "%s", out)
}

// status runs git as the user, and reports whether that ran what was planted.
func (a *arena) status() (found []violation) {
	a.t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "status", "--short")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = a.ws, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.home},
		a.stance.credential()
	_ = cmd.Run()
	if _, err := os.Stat(filepath.Join(a.ws, "PWNED")); err == nil {
		found = append(found, violation{checkWhole, "the user's git ran what was planted"})
	}
	return found
}

// plantings are ways to make the user's git, shell, editor or agent run something, and what each would
// leave.
var plantings = map[string]struct{ script, made string }{
	"commondir": {commonDirectory, ".git/commondir"},
	"bare root": {"mv .git/HEAD .git/H; mkdir objects refs; echo 'ref: refs/heads/master' > HEAD; " +
		"printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch PWNED; false\n' > config", "HEAD"},
	"bare root without git's": {"rm -rf .git/refs .git/HEAD; mkdir refs objects; cp .git/config config; " +
		"printf '[core]\n\tfsmonitor = touch PWNED; false\n' >> config; echo 'ref: refs/heads/master' > x; mv x HEAD", "HEAD"},
	"bare, moved into place": {"mkdir -p b/o b/r; echo 'ref: refs/heads/master' > b/HEAD; mv b/o b/objects; mv b/r b/refs",
		"b/objects"},
	"HEAD is missing":   {"mv .git/HEAD .git/x; rm -f .git/HEAD; mv .git/refs .git/r", ".git/x"},
	"hook":              {"mkdir -p .git/hooks; echo 'touch PWNED' > .git/hooks/post-index-change", ".git/hooks/post-index-change"},
	"nested":            {"mkdir -p sub/.git && echo x > sub/.git/config", "sub/.git/config"},
	"nested, by a file": {"mkdir -p vendor/x && echo 'gitdir: ../../evil' > vendor/x/.git", "vendor/x/.git"},
	"nested, by a link": {"mkdir -p l evil && ln -s ../evil l/.git", "l/.git"},
	"todo of a rebase": {"mkdir -p .git/rebase-merge; echo 'exec touch PWNED' > .git/rebase-merge/git-rebase-todo",
		".git/rebase-merge/git-rebase-todo"},
	"todo, by a rename": {"mkdir -p .git/rebase-merge; echo 'exec true' > t; mv t .git/rebase-merge/git-rebase-todo",
		".git/rebase-merge/git-rebase-todo"},
	"hooks' directory":    {"mkdir -p .githooks; echo true > .githooks/pre-commit", ".githooks/pre-commit"},
	"included":            {"printf '[core]\n' > git.inc", "git.inc"},
	"agent.hcl":           {"mkdir -p sub && echo 'limits { }' > sub/agent.hcl", "sub/agent.hcl"},
	"agent.hcl.json":      {"echo '{}' > agent.hcl.json", "agent.hcl.json"},
	".envrc":              {"echo true > .envrc", ".envrc"},
	".envrc below":        {"mkdir -p sub; echo true > sub/.envrc", "sub/.envrc"},
	"editor":              {"mkdir -p sub/.vscode; echo '{}' > sub/.vscode/tasks.json", "sub/.vscode"},
	"agent":               {"mkdir -p sub/.claude; echo '{}' > sub/.claude/settings.json", "sub/.claude/settings.json"},
	"agent, moved":        {"mkdir sub2; echo '{}' > sub2/settings.json; mv sub2 .claude", ".claude"},
	"servers":             {"echo '{}' > .mcp.json; mkdir -p sub; echo '{}' > sub/.mcp.json", "sub/.mcp.json"},
	"hook of lefthook":    {"echo 'post-checkout: {}' > lefthook.yml", "lefthook.yml"},
	"opencode, moved":     {"mkdir q; echo x > q/x.ts; mv q .opencode; mkdir p; echo x > p/x.ts; mv p .opencode/plugins", ".opencode/plugins"},
	"cursor":              {"mkdir -p .cursor && echo '{}' > .cursor/mcp.json", ".cursor/mcp.json"},
	"allowed: repository": {"mkdir -p ../shared/.git; echo x > ../shared/.git/config", "../shared/.git/config"},
	"allowed: .envrc":     {"echo true > ../shared/.envrc", "../shared/.envrc"},
	"allowed: bare":       {"mkdir -p ../shared/objects ../shared/refs; echo 'ref: refs/heads/x' > ../shared/HEAD", "../shared/HEAD"},
	"whiteout":            {"mknod dev c 0 0; true", "dev"},
}

// No command, background task or reviewed call leaves anything that the user's own programs run, in the
// workspace and in allowed directories.
func TestWhatIsPlantedForOthers(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "git")
	const allow = "workspace { allow = [\"../shared\"] }\n"
	for _, s := range stances() {
		for rule, more := range map[string]string{"": s.block(), "unwatched ": s.unwatched(),
			"reviewed ": s.block() + "policy {\n  rule \"r\" {\n" +
				"    tool = \"plant\"\n    action = \"review\"\n    files = 500\n    deletes = true\n  }\n}\n"} {
			if rule == "reviewed " && !s.full(t) {
				continue // no views
			}
			t.Run(rule+s.String(), func(t *testing.T) {
				t.Parallel()
				a := newArenaFor(t, s, map[string]string{"shared/ok.txt": "fine\n"})
				require.NoError(t, os.Rename(filepath.Join(a.ws, "shared"), filepath.Join(a.base, "shared")))
				a.write(a.ws, "agent.hcl", allow+planting+more, 0o644)
				a.repositoryWithSettings()
				a.arm()
				for name, c := range plantings {
					tally.note(tally.cases, "protect", rule+s.String()+" planted "+name)
					r := a.cli(nil, "", "plant", planted(t, c.script))
					_, err := os.Lstat(filepath.Join(a.ws, filepath.FromSlash(c.made)))
					assert.ErrorIs(t, err, os.ErrNotExist, "%s: %s", name, r.said)
					assert.Empty(t, a.status(), "%s: %s", name, r.said)
				}
			})
		}
	}
	for name, c := range plantings {
		a := newArena(t, nil)
		a.repositoryWithSettings()
		a.arm()
		require.NoError(t, os.Mkdir(filepath.Join(a.base, "shared"), 0o755))
		a.asUser(c.script + "\ntrue")
		var found []violation
		if _, err := os.Lstat(filepath.Join(a.ws, filepath.FromSlash(c.made))); err == nil {
			found = append(found, violation{checkWhole, c.made})
		}
		if name == "whiteout" && len(found) == 0 {
			continue // devices may need privileges
		}
		control(t, "protect", "unconfined, "+name, checkWhole, found)
		if slices.Contains([]string{"commondir", "bare root"}, name) {
			control(t, "protect", "the user's git after "+name, checkWhole, a.status())
		}
	}
}

// File tools make no repository either.
func TestFileToolsMakeNoRepository(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"b/HEAD": "x\n", "agent.hcl": s.block()})
			a.arm()
			for _, path := range []string{"sub/HEAD", "HEAD", "b/objects/x", "b/refs/x", "b/commondir", "sub/.envrc",
				"sub/.vscode/tasks.json", "sub/.git", "sub/.mcp.json", "sub/.claude/settings.json", "scripts/.husky/pre-commit",
				"lefthook.yml", ".pre-commit-config.yaml", "kilo.json", ".amp/settings.json", "sub/.opencode/plugins/x.ts"} {
				tally.note(tally.cases, "protect", s.String()+" file tools make "+path)
				params, err := json.Marshal(map[string]string{"path": path, "content": "ref: refs/heads/x\n"})
				require.NoError(t, err)
				r := a.cli(nil, "", "write_file", string(params))
				assert.True(t, r.failed, "%s: %s", path, r.said)
				assert.NoFileExists(t, filepath.Join(a.ws, path))
			}
			tally.note(tally.controls, "protect", s.String()+" file tools make another file")
			assert.False(t, a.cli(nil, "", "write_file", `{"path":"sub/ordinary","content":"x"}`).failed)
		})
	}
}
