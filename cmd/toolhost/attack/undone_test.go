package attack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// What undo would restore: planted while harmless, and removed, to return when the user has made
// something there.
var undone = map[string]struct{ plant, user string }{
	"sub/HEAD": {"mkdir sub; echo ref: refs/heads/main > sub/HEAD", "mkdir -p sub/objects sub/refs"},
}

// An undo makes no git repository of the user's later files, unless the user names it.
func TestUndoBringsNothingThatGitHeeds(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "git")
	for _, s := range stances() {
		for name, c := range undone {
			t.Run(s.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				tally.note(tally.cases, "protect", s.String()+": undo of "+name)
				undoBringsNothing(t, s, name, c.plant, c.user)
			})
		}
	}
}

func undoBringsNothing(t *testing.T, s stance, name, plant, user string) {
	a := newArenaFor(t, s, map[string]string{"agent.hcl": planting + s.block()})
	a.arm()
	run := func(script string) {
		params, err := json.Marshal(map[string]string{"script": script})
		require.NoError(t, err)
		r := a.cli(nil, "", "plant", string(params))
		require.False(t, r.failed, "%s", r.said)
	}
	run(plant)
	run("echo old > ok.txt; find . -depth -path '*/.git*' -delete; find sub -delete; true")
	a.asUser(user)
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
	out, err = a.run(nil, "undo", "athb", "--path", name)
	require.NoError(t, err, out)
	var found []violation
	if _, err := os.Lstat(filepath.Join(a.ws, name)); err == nil {
		found = append(found, violation{checkWhole, name})
	}
	control(t, "protect", s.String()+": undo of "+name+", which the user has named", checkWhole, found)
}

// asUser runs a script in the workspace as the user, unconfined.
func (a *arena) asUser(script string) {
	a.t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.SysProcAttr = a.ws, a.stance.credential()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.home}
	out, err := cmd.CombinedOutput()
	require.NoError(a.t, err, "%s", out)
}
