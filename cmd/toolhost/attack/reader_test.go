package attack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// evaluated are lines in which text becomes a command only when bash evaluates it: no word of them is the
// command that runs. Each removes the file kept.
var evaluated = []string{
	`echo "${x:=\$(rm kept)}" "${x@P}"`,
	`echo ${x:=a[\$(rm kept)]} $((x))`,
	`echo ${x:=a[\$(rm kept)]} ${y[x]}`,
	`echo ${x:=a[\$(rm kept)]} ${y:=b} ${y:x}`,
	`echo "${x:=a[\$(rm kept)]}" "${!x}"`,
	`echo "${x='$(rm kept)'}${x@P}"`,
	`printf -v 'a[$(rm kept)]' x`,
	`read 'a[$(rm kept)]' <<< x`,
	`test -v 'a[$(rm kept)]'`,
	`exec {a[$(rm kept)]}>&1`,
	`env BASH_ENV='$(rm kept)' bash -c :`,
	`trap -- 'rm kept' EXIT`,
	`eval -- rm kept`,
	`env - rm kept`,
	`echo a | xargs --replace rm kept`,
	"(echo ''#; rm kept\n)", // a comment to a parser, but not to a shell
	`echo rm kept | xargs -I{} sh -c '{}'`,
	`echo rm kept | . /dev/stdin`,
	`bash +c 'rm kept'`,
}

// lenient asks about dangerous calls and allows the programs that the lines name.
const lenient = `
policy {
  dangerous = "ask"
  rule "plain" {
    command = "%s *"
    action  = "allow"
  }
}
`

const noRemoval = `
policy {
  rule "no removal" {
    command = "rm *"
    action  = "deny"
  }
}
`

func needBash(t *testing.T) []string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		testneed.Missing(t, "bash is not installed")
	}
	return []string{"SHELL=" + bash}
}

// ran reports whether a line of evaluated ran its hidden command.
func (a *arena) ran() (found []violation) {
	if _, err := os.Lstat(filepath.Join(a.ws, "kept")); err != nil {
		found = append(found, violation{checkWhole, "the hidden command ran"})
		a.write(a.ws, "kept", "", 0o644)
	}
	return found
}

// Evaluation bypasses no rule that allows or denies, and no confirmation.
func TestEvaluatedCommands(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	env := needBash(t)
	for name, c := range map[string]struct{ rules, toolset, tool, want string }{
		"allow":   {fmt.Sprintf(lenient, "echo"), "cliagent", "run_in_terminal", "denied"},
		"deny":    {noRemoval, "cliagent", "run_in_terminal", "denied"},
		"confirm": {"", "clemini", "bash", "needs_confirmation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, map[string]string{"agent.hcl": c.rules, "kept": ""})
			a.arm()
			for _, line := range evaluated {
				r := onCommandLine(t, a, env, c.toolset,
					attack{group: "reader", name: name + " " + line, tool: c.tool, params: command(t, line),
						want: codes(c.want)})
				assert.Empty(t, a.ran(), "%s: %s", line, r.text)
			}
			for _, line := range []string{`echo "${x:-a}" "$(echo b)"`, `echo ${HOME##*/}`} {
				r := onCommandLine(t, a, env, c.toolset,
					attack{group: "reader", name: name + " harmless " + line, tool: c.tool, params: command(t, line)})
				assert.Empty(t, r.code, "%s: %s", line, r.text)
			}
		})
	}
}

// codes returns each toolset's codes of a refusal.
func codes(code string) []string {
	if code == "needs_confirmation" {
		return []string{code, "NEEDS_CONFIRMATION"}
	}
	return []string{code, "rejected"}
}

func TestEvaluatedCommandControls(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	env := needBash(t)
	for _, line := range evaluated {
		t.Run(line, func(t *testing.T) {
			a := newArena(t, map[string]string{"agent.hcl": "sandbox { level = \"off\" }\n", "kept": ""}) // no policy
			a.arm()
			a.cli(env, "cliagent", "run_in_terminal", command(t, line))
			control(t, "reader", line, checkWhole, a.ran())
		})
	}
}
