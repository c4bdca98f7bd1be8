package attack

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestGrantedFileIsAnotherOne changes, as git pull does, what an agent, a Taskfile and a server of
// toolset ocode run with a grant. Unapproved content is not run.
func TestGrantedFileIsAnotherOne(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const tasks = "version: '3'\nincludes:\n  more: {taskfile: ../more.yml, flatten: true, optional: true}\n" +
		"tasks:\n  go:\n    cmds: [echo as approved]\n"
	for name, x := range map[string]struct {
		block, toolset, file, before, evil string
		call                               [2]string
	}{
		"an agent": {
			"agent {\n  command = [\"sh\", \"tools/helper.sh\"]\n  network = \"allow\"\n}\n", "clemini",
			"tools/helper.sh",
			"echo as approved\n", "echo evil ran\n",
			[2]string{"task", `{"prompt":"x"}`}},
		"an agent's program that is made": {
			"agent {\n  command = [\"sh\", \"tools/helper.sh\"]\n  network = \"allow\"\n}\n", "clemini",
			"tools/helper.sh",
			"", "echo evil ran\n", [2]string{"task", `{"prompt":"x"}`}},
		"a Taskfile": {"taskfile { network = \"allow\" }\n", "", ".agent/Taskfile.yml", tasks,
			strings.Replace(tasks, "as approved", "evil ran", 1), [2]string{"run_command", `{"command":"go"}`}},
		"an include that is made": {"taskfile { network = \"allow\" }\n", "", "more.yml", "",
			"version: '3'\ntasks:\n  more:\n    cmds: [echo evil ran]\n",
			[2]string{"run_command", `{"command":"more"}`}},
		"a server of ocode": {upstream("  network = \"allow\"\n"), "ocode", "tools.json", offering(innocent, "greet"),
			offering(innocent, "greet", "evil ran"),
			[2]string{"mcp", `{"action":"list","server":"up"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "protect", "another content of "+name)
			a := newArena(t, map[string]string{"agent.hcl": x.block, ".agent/Taskfile.yml": tasks})
			if x.before != "" {
				a.write(a.ws, x.file, x.before, 0o644)
			}
			a.approve(a.ws)
			env := []string{unapproved}
			if x.before != "" {
				r := a.cli(env, x.toolset, x.call[0], x.call[1])
				assert.NotContains(t, r.text, "has changed since agent.hcl was approved", "control: it runs as it was approved")
			}
			a.write(a.ws, x.file, x.evil, 0o644)
			r := a.cli(env, x.toolset, x.call[0], x.call[1])
			all := r.text + strings.Join(r.said, "\n")
			assert.NotContains(t, all, "evil ran")
			assert.Contains(t, all, x.file+" has changed since agent.hcl was approved")
			assert.Contains(t, all, "toolhost trust")
			out, err := a.program(env, "trust", "--show").CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), x.file, "what has changed is shown")
			a.approve(a.ws)
			tally.note(tally.controls, "protect", "another content of "+name)
			r = a.cli(env, x.toolset, x.call[0], x.call[1])
			all = r.text + strings.Join(r.said, "\n")
			assert.NotContains(t, all, "has changed since agent.hcl was approved", "control: it is approved")
			if x.toolset != "ocode" { // whose new tools wait for an approval of their own
				assert.Contains(t, all, "evil ran", "control: it is approved")
			}
		})
	}
}
