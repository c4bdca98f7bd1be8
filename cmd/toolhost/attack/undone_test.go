//go:build unix

package attack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/testneed"
)

// What undo would bring back: planted where nothing kept a command from it, and
// removed again, to come back when the user has made something there.
var undone = map[string]struct{ plant, user string }{
	".git/hooks/post-checkout": {
		"mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch PWNED\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
		"git init -q"},
	".git/config": {"mkdir .git; printf '[core]\\n\\tfsmonitor = touch PWNED; false\\n' > .git/config",
		"git init -q && rm .git/config"},
	".git/info/attributes": {"mkdir -p .git/info; echo '* filter=x' > .git/info/attributes", "git init -q"},
	"sub/.git/hooks/post-checkout": {
		"mkdir -p sub/.git/hooks; printf '#!/bin/sh\\ntouch PWNED\\n' > sub/.git/hooks/post-checkout; chmod +x sub/.git/hooks/*",
		"git init -q sub"},
}

// An undo brings back no hook and no configuration of git, beside which the user
// has made a repository since, unless the user names it.
func TestUndoBringsNothingThatGitHeeds(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "git")
	for name, c := range undone {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "protect", "undo of "+name)
			s := stance{sandbox.Full, os.Geteuid()}
			a := newArenaFor(t, s, map[string]string{"agent.hcl": planting + s.block()})
			a.arm()
			run := func(script string) {
				params, err := json.Marshal(map[string]string{"script": script})
				require.NoError(t, err)
				r := a.cli(nil, "", "plant", string(params))
				require.False(t, r.failed, "%s", r.said)
			}
			run(c.plant)
			run("echo old > ok.txt; find . -depth -path '*/.git*' -delete; find sub -delete; true")
			a.asUser(c.user)
			for _, flags := range [][]string{{}, {"--path", "."}, {"--ours"}, {"--path", ".git"}, {"--path", "sub"}} {
				out, err := a.run(nil, append([]string{"undo"}, flags...)...)
				require.Error(t, err, "%s: %s", flags, out)
				assert.NoFileExists(t, filepath.Join(a.ws, name), "%s: %s", flags, out)
			}
			out, err := a.run(nil, "undo")
			require.Error(t, err)
			assert.Contains(t, out, "--path "+name)
			out, err = a.run(nil, "undo", "--skip")
			require.NoError(t, err, out)
			assert.NoFileExists(t, filepath.Join(a.ws, name), out)
			ok, err := os.ReadFile(filepath.Join(a.ws, "ok.txt"))
			require.NoError(t, err)
			assert.Equal(t, "fine\n", string(ok), "the rest is undone")
			out, err = a.run(nil, "undo", "tool_step_0002", "--path", name)
			require.NoError(t, err, out)
			var found []violation
			if _, err := os.Lstat(filepath.Join(a.ws, name)); err == nil {
				found = append(found, violation{checkWhole, name})
			}
			control(t, "protect", "undo of "+name+", which the user has named", checkWhole, found)
		})
	}
}

// asUser has the user run a script in the workspace, unconfined.
func (a *arena) asUser(script string) {
	a.t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.SysProcAttr = a.ws, a.stance.credential()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.home}
	out, err := cmd.CombinedOutput()
	require.NoError(a.t, err, "%s", out)
}
