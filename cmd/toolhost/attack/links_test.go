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

// protectedLinks are names that commands may not change. Protection must not reveal the target of such
// a link.
var protectedLinks = []string{
	".envrc", ".mcp.json", ".vscode", ".cursor/mcp.json", "agent.lock.hcl", ".agent/runs", ".agent/Taskfile.yml",
	".git/config", ".git/hooks", "tools/build.sh",
}

const linksConfig = `sandbox {
  mask = ["notes", "../outside"]
}
tool "script" {
  description = "Run."
  network     = "allow"
  command { argv = ["sh", "tools/build.sh"] }
}
`

// TestProtectedLinksShowNothing has links with protected names lead to secrets: from a clone, and left
// by a command for the next.
func TestProtectedLinksShowNothing(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range append(stances(), stance{sandbox.Off, os.Geteuid()}) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			for _, leads := range []string{"../home/.ssh/id_ed25519", "../home/.ssh", "../outside/secret.txt",
				"../outside"} {
				hcl := linksConfig
				if s.level != sandbox.Auto {
					hcl = strings.Replace(hcl, "sandbox {", "sandbox {\n  level = \""+string(s.level)+"\"", 1)
				}
				a := newArenaFor(t, s, map[string]string{"agent.hcl": hcl, ".git/HEAD": "ref: refs/heads/main\n",
					".git/objects/x": "", ".git/refs/x": ""})
				planted := make(map[string]bool)
				for _, name := range protectedLinks {
					if planted[name] = name != ".mcp.json" && name != ".cursor/mcp.json"; planted[name] {
						a.link(filepath.Join(a.ws, leads), name)
					}
				}
				a.arm()
				h := a.serve(nil, "--toolset", "cliagent")
				for _, name := range protectedLinks {
					if !planted[name] {
						_ = h.call("run_in_terminal",
							command(t, "mkdir -p .cursor; ln -s "+filepath.Join(a.ws, leads)+" "+name))
					}
					line := "cat " + name + " " + name + "/*; "
					if s.level != sandbox.Off {
						line += "mkdir -p t; mount --bind " + name + " t 2>/dev/null; cat t/* 2>/dev/null; true"
						oneOverMCP(t, h, attack{group: "protect", name: s.String() + " link " + name + " to " + leads,
							tool: "run_in_terminal", params: command(t, line)})
						continue
					}
					// No mount here: it would be the machine's, and stay.
					r := h.call("run_in_terminal", command(t, line+"true"))
					if planted[name] {
						control(t, "protect", "link "+name+" to "+leads, checkSecret, h.inspect(r))
					}
				}
				h.stop()
			}
		})
	}
	a := newArena(t, map[string]string{"agent.hcl": linksConfig, "real.json": "fine\n", "notes/n": "not-for-tools\n"})
	a.link("real.json", ".mcp.json")
	a.link("notes/n", ".envrc")
	a.arm()
	r := a.cli(nil, "cliagent", "run_in_terminal",
		command(t, "cat .envrc; echo owned > .mcp.json; echo owned > real.json; cat real.json"))
	assert.NotContains(t, strings.Join(r.said, "\n"), "not-for-tools", "what is masked in the workspace")
	kept, err := os.ReadFile(filepath.Join(a.ws, "real.json"))
	require.NoError(t, err)
	assert.Equal(t, "fine\n", string(kept), "what such a link leads to in the workspace is protected")
}
