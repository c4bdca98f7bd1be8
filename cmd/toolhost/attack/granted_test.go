package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestGrantedFileIsMade has a command make or change a file that a block with a grant runs, in every
// stance. The block runs no unapproved content.
func TestGrantedFileIsMade(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const file = `tool "script" {
  description = "Run."
  write       = ["../outside"]
  command { argv = ["sh", "tools/build.sh"] }
}
tool "other" {
  description = "Run."
  write       = ["../outside"]
  command { argv = ["sh", "tools/other.sh"] }
}
tool "line" {
  description = "Run."
  param "line" { type = string }
  command { argv = ["sh", "-c", param.line] }
}
`
	const evil = `mkdir -p tools; echo 'echo owned > ../outside/owned; echo evil ran' > tools/build.sh; cat tools/build.sh`
	for _, s := range append(stances(), stance{sandbox.Off, os.Geteuid()}) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s,
				map[string]string{"agent.hcl": file + s.block(), "tools/other.sh": "echo other ran\n"})
			a.arm()
			a.approve(a.ws)
			env := []string{unapproved}
			h := a.serve(env)
			_ = h.call("line", scriptParams(t, evil))
			x := attack{group: "protect", name: s.String() + " granted file that was not there", tool: "script",
				params: `{}`}
			oneOverMCP(t, h, x)
			onCommandLine(t, a, env, "", x)
			r := h.call("script", `{}`)
			assert.True(t, r.failed, r.text)
			assert.NotContains(t, r.text, "evil ran")
			assert.Contains(t, h.call("other", `{}`).text, "other ran", "another block goes on")
			if _, err := os.Stat(filepath.Join(a.ws, "tools", "build.sh")); err == nil {
				assert.Contains(t, r.text, "tools/build.sh")
				assert.Contains(t, r.text+strings.Join(r.said, " "), "toolhost trust")
			}
			h.stop()
			a.write(a.ws, "tools/build.sh", "echo owned > ../outside/owned; echo evil ran\n", 0o644)
			out, err := a.program(env, "trust", "--show").CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "tools/build.sh", "what has changed is shown")
			a.approve(a.ws)
			approved := a.cli(env, "", "script", `{}`)
			control(t, "protect", "the file is approved", checkCanary, a.inspect(approved.said...))
		})
	}
}

// TestGrantedFileOfAnotherWorkspace names another directory as the workspace: a file there under an
// approved file's name does not have its grant.
func TestGrantedFileOfAnotherWorkspace(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	tally.note(tally.cases, "protect", "a granted file of another workspace")
	a := newArena(t, map[string]string{"tools/build.sh": "echo as approved\n",
		"sub/tools/build.sh": "echo owned > ../../outside/owned; echo evil ran\n",
		"agent.hcl": "tool \"script\" {\n  description = \"Run.\"\n  write       = [\"../outside\"]\n" +
			"  command { argv = [\"sh\", \"tools/build.sh\"] }\n}\n"})
	a.arm()
	a.approve(a.ws)
	script := []string{"call", "--workspace", filepath.Join(a.ws, "sub"), "script"}
	out, err := a.run([]string{unapproved}, script...)
	assert.Error(t, err)
	assert.Contains(t, out, "sub/tools/build.sh has changed since agent.hcl was approved")
	assert.Empty(t, a.inspect(out))
	tally.note(tally.controls, "protect", "a granted file of another workspace")
	a.write(a.ws, "sub/tools/build.sh", "echo as approved\n", 0o644)
	out, err = a.run([]string{unapproved}, script...)
	assert.NoError(t, err)
	assert.Contains(t, out, "as approved", "control: what was approved runs there")
}
