//go:build unix

package attack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

// planting is a tool that runs a script with a shell.
const planting = "tool \"plant\" {\n  description = \"Run. Returns: output.\"\n  param \"script\" {\n    type = string\n  }\n" +
	"  command {\n    argv  = [\"sh\"]\n    stdin = param.script\n  }\n}\n"

// commonDirectory has git take its configuration from elsewhere in the work tree.
const commonDirectory = `cp -r .git evil && rm -f evil/commondir && printf '[core]\n\tfsmonitor = touch PWNED; ` +
	`false\n' >> evil/config && echo ../evil > .git/commondir; `

// repositoryIn makes a repository in a directory, as the user does.
func (a *arena) repositoryIn(dir string) {
	a.t.Helper()
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "add", "ok.txt"},
		{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"}} {
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(a.t, err, "%s", out)
	}
}

// status has the user look at the repository, and tells whether that ran what
// was planted.
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

// A command that gives the repository another configuration has it removed
// where it could not be refused, and what else it leaves for others to heed is
// told.
func TestWhatIsPlantedForOthers(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "git")
	names := map[string]string{
		"sub/.git":         "mkdir -p sub/.git && echo x > sub/.git/config",
		"sub/agent.hcl":    "mkdir -p sub && echo 'limits { }' > sub/agent.hcl",
		"vendor/x/.git":    "mkdir -p vendor/x && echo 'gitdir: ../../evil' > vendor/x/.git",
		".cursor/mcp.json": "mkdir -p .cursor && echo '{}' > .cursor/mcp.json",
		".envrc":           "echo true > .envrc", "agent.hcl.json": "echo '{}' > agent.hcl.json",
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"agent.hcl": planting + s.block()})
			a.repositoryIn(a.ws)
			a.arm()
			plant := func(script string) *result {
				params, err := json.Marshal(map[string]string{"script": script})
				require.NoError(t, err)
				return a.cli(nil, "", "plant", string(params))
			}
			tally.note(tally.cases, "protect", s.String()+" another configuration for git")
			r := plant(commonDirectory)
			assert.Empty(t, a.status(), "%s", r.said)
			assert.NoFileExists(t, filepath.Join(a.ws, ".git", "commondir"))
			if s.full(t) {
				assert.Contains(t, r.text, ".git/commondir was made and has been removed")
			}
			for name, script := range names {
				tally.note(tally.cases, "protect", s.String()+" planted "+name)
				r := plant(script)
				_, err := os.Lstat(filepath.Join(a.ws, filepath.FromSlash(name)))
				if !s.full(t) {
					assert.ErrorIs(t, err, os.ErrNotExist, name)
					continue
				}
				assert.Contains(t, strings.Join(r.said, ""), name+" is new", "%s", r.said)
				assert.Contains(t, r.text, name+" is new")
			}
		})
	}
	a := newArena(t, nil)
	a.repositoryIn(a.ws)
	a.arm()
	naive := exec.Command("sh", "-c", commonDirectory)
	naive.Dir = a.ws
	require.NoError(t, naive.Run())
	control(t, "protect", "another configuration for git", checkWhole, a.status())
}
