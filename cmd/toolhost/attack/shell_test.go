package attack

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell runs a command in the workspace without protection. %OUT% and %MARK% are the arena's.
func (a *arena) shell(script string) string {
	script = strings.NewReplacer("%OUT%", a.out, "%MARK%", a.mark, "%HOME%", a.home, "%PORT%", a.fill("{PORT}"), "%WS%",
		a.ws).Replace(script)
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = a.ws, a.env()
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// hidden are ways to write `touch {OUT}/owned` that a rule against touch might miss. An unreadable
// command asks, which is denied too since there is no user.
var hidden = []string{
	`touch {OUT}/owned`,
	`\touch {OUT}/owned`,
	`'touch' {OUT}/owned`,
	`"touch" {OUT}/owned`,
	`to'u'ch {OUT}/owned`,
	`t""ouch {OUT}/owned`,
	`t\ouch {OUT}/owned`,
	`/usr/bin/touch {OUT}/owned`,
	`/bin/../usr/bin/touch {OUT}/owned`,
	`A=1 touch {OUT}/owned`,
	`true; touch {OUT}/owned`,
	`true && touch {OUT}/owned`,
	`false || touch {OUT}/owned`,
	`true & touch {OUT}/owned`,
	`true | touch {OUT}/owned`,
	"true\ntouch {OUT}/owned",
	`(touch {OUT}/owned)`,
	`{ touch {OUT}/owned; }`,
	`! touch {OUT}/owned`,
	`if true; then touch {OUT}/owned; fi`,
	`while touch {OUT}/owned; do break; done`,
	`for i in 1; do touch {OUT}/owned; done`,
	`case x in x) touch {OUT}/owned;; esac`,
	`f() { touch {OUT}/owned; }; f`,
	`echo $(touch {OUT}/owned)`,
	"echo `touch {OUT}/owned`",
	`echo "$(touch {OUT}/owned)"`,
	`cat < <(touch {OUT}/owned)`,
	`x=$(touch {OUT}/owned)`,
	`[ "$(touch {OUT}/owned)" ]`,
	`command touch {OUT}/owned`,
	`exec touch {OUT}/owned`,
	`eval touch {OUT}/owned`,
	`eval "tou""ch {OUT}/owned"`,
	`builtin eval touch {OUT}/owned`,
	`env touch {OUT}/owned`,
	`env -i A=1 touch {OUT}/owned`,
	`env -S 'touch {OUT}/owned'`,
	`nice touch {OUT}/owned`,
	`nice -n 5 touch {OUT}/owned`,
	`nohup touch {OUT}/owned`,
	`time touch {OUT}/owned`,
	`timeout 5 touch {OUT}/owned`,
	`timeout -k 1 5 touch {OUT}/owned`,
	`stdbuf -o0 touch {OUT}/owned`,
	`setsid touch {OUT}/owned`,
	`ionice -c 3 touch {OUT}/owned`,
	`sudo touch {OUT}/owned`,
	`sudo -u root -- touch {OUT}/owned`,
	`sh -c 'touch {OUT}/owned'`,
	`sh -ec 'touch {OUT}/owned'`,
	`bash -c "touch {OUT}/owned"`,
	`/bin/sh -c 'sh -c "touch {OUT}/owned"'`,
	`xargs touch < names`,
	`echo {OUT}/owned | xargs touch`,
	`echo {OUT}/owned | xargs -n1 -I% touch %`,
	`find . -maxdepth 0 -exec touch {OUT}/owned \;`,
	`t=touch; $t {OUT}/owned`,
	`${T:-touch} {OUT}/owned`,
	`$'\x74ouch' {OUT}/owned`,
	`$(echo touch) {OUT}/owned`,
	`echo dG91Y2ggeA== | base64 -d | sh`,
	`printf 'touch {OUT}/owned' | sh`,
	`sh < script`,
	`. ./script`,
	`source ./script`,
	`touc? {OUT}/owned`,
	`"unclosed touch {OUT}/owned`,
}

const shellRules = `
policy {
  rule "no touch" {
    command = "touch *"
    action  = "deny"
    reason  = "touch is not for agents"
  }
  rule "scripts" {
    command = "sh *"
    action  = "ask"
  }
  rule "sourced" {
    command = ". *"
    action  = "ask"
  }
  rule "sourced too" {
    command = "source *"
    action  = "ask"
  }
}
`

func shellArena(t *testing.T) *arena {
	a := newArena(t, nil)
	a.write(a.ws, "script", "touch "+a.out+"/owned\n", 0o755)
	a.write(a.ws, "names", a.out+"/owned\n", 0o644)
	a.write(a.ws, "agent.hcl", shellRules, 0o644)
	return a
}

func command(t *testing.T, line string) string {
	data, err := json.Marshal(map[string]string{"command": line})
	require.NoError(t, err)
	return string(data)
}

// A rule against a command cannot be bypassed by another spelling.
func TestShellPolicy(t *testing.T) {
	t.Parallel()
	for toolset, name := range map[string]string{"cliagent": "run_in_terminal", "agentbench": "run"} {
		t.Run(toolset, func(t *testing.T) {
			t.Parallel()
			a := shellArena(t)
			a.arm()
			h := a.serve(nil, "--toolset", toolset)
			for _, line := range hidden {
				oneOverMCP(t, h, attack{group: "shell", name: toolset + " " + line, tool: name,
					params: command(t, a.fill(line)), want: []string{"denied", "rejected"}})
			}
			for _, v := range h.stop() {
				t.Errorf("after the end: %s: %s", v.check, v.what)
			}
		})
	}
}

// Similar commands are allowed: a rule that stops everything would prove nothing.
func TestShellPolicyLetsOtherCommandsThrough(t *testing.T) {
	t.Parallel()
	a := shellArena(t)
	a.arm()
	h := a.serve(nil, "--toolset", "cliagent")
	for _, line := range []string{`echo touch me`, `echo 'touch {OUT}/owned'`, `printf '%s' "a; touch b"`,
		`true # touch x`, `ls touch.txt || true`} {
		oneOverMCP(t, h, attack{group: "shell", name: "harmless " + line, tool: "run_in_terminal",
			params: command(t, a.fill(line)), want: []string{""}})
	}
	h.stop()
}

func TestShellControls(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`to'u'ch %OUT%/owned`, `sh -c 'touch %OUT%/owned'`, `echo %OUT%/owned | xargs touch`,
		`. ./script`, `t=touch; $t %OUT%/owned`} {
		t.Run(line, func(t *testing.T) {
			a := shellArena(t)
			a.write(a.ws, "agent.hcl", "sandbox { level = \"off\" }\n", 0o644) // neither policy nor sandbox
			a.arm()
			r := a.cli(nil, "cliagent", "run_in_terminal", command(t, strings.ReplaceAll(line, "%OUT%", a.out)))
			control(t, "shell", line, checkCanary, a.inspect(r.said...))
		})
	}
}
