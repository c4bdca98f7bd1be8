package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// What a client's user does not see: something approved does not arrive, or something is missing
// silently.

// greeting is a tool that reads the environment.
const greeting = `tool "greet" {
  description = "Greet. Returns: a greeting."
  command { argv = ["echo", "hello", env("GREETED")] }
}
`

// as starts a server with only that environment.
func (a *arena) as(env []string, args ...string) *host {
	a.t.Helper()
	cmd := a.program(nil, append([]string{"serve"}, args...)...)
	cmd.Env = env
	h := newHost(a, cmd)
	h.begin()
	hello := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"attacker","version":"1"}}`
	require.NotNil(a.t, h.ask("initialize", hello), "%s", h.stderr.String())
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return h
}

// With a client that passes on only four variables of its own, what the user approved works.
func TestAClientThatFiltersTheEnvironment(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": greeting})
	a.arm()
	set := []string{unapproved, "GREETED=all"}
	_, err := a.run(set, "trust", "--yes")
	require.NoError(t, err)
	out, err := a.run(set, "install", "codex")
	require.NoError(t, err, out)
	written, err := os.ReadFile(filepath.Join(a.home, ".codex", "config.toml"))
	require.NoError(t, err)
	var named []string
	if list := regexp.MustCompile(`(?s)env_vars = (\[.*?\])`).FindSubmatch(written); list != nil {
		require.NoError(t, json.Unmarshal(list[1], &named))
	}
	serve := func(names ...string) *result {
		var env []string
		for _, entry := range a.env(set...) {
			name, _, _ := strings.Cut(entry, "=")
			for _, wanted := range append([]string{"HOME", "LANG", "PATH", "TERM"}, names...) {
				if name == wanted {
					env = append(env, entry)
				}
			}
		}
		h := a.as(env)
		r := h.finish(h.startCall("greet", `{}`), time.Now())
		h.stop()
		return r
	}
	tally.note(tally.cases, "trust", "a client that filters the environment")
	assert.Equal(t, "hello all\n", serve(named...).text, "%s", written)
	var found []violation
	if serve().failed {
		found = append(found, violation{checkResult, "the tool is missing"})
	}
	control(t, "trust", "a client that passes on nothing else", checkResult, found)
}

// What is not in force is shown to the client's user and model, and is in force soon after the
// approval.
func TestAnUnapprovedFileIsSaid(t *testing.T) {
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": greeting})
	a.arm()
	out, err := a.run([]string{unapproved}, "install", "codex")
	require.NoError(t, err, out)
	tally.note(tally.cases, "trust", "install says that the file is not approved")
	assert.Contains(t, out, "not approved")
	assert.Contains(t, out, "toolhost trust")

	h := a.serve([]string{unapproved, "GREETED=all"})
	tally.note(tally.cases, "trust", "instructions say that the file is not approved")
	assert.Contains(t, h.said("1"), "agent.hcl is not approved")
	tally.note(tally.cases, "trust", "a call says that the file is not approved")
	refused := h.finish(h.startCall("greet", `{}`), time.Now())
	assert.Contains(t, refused.text, "is not approved")
	assert.Contains(t, refused.text, "toolhost trust")

	tally.note(tally.cases, "trust", "an approval reaches a running server")
	_, err = a.run([]string{unapproved, "GREETED=all"}, "trust", "--yes")
	require.NoError(t, err)
	greeted := func() bool { return !h.finish(h.startCall("greet", `{}`), time.Now()).failed }
	assert.True(t, within(patience, greeted), "%s", h.stderr.String())
	assert.Contains(t, h.stdout.String(), "notifications/tools/list_changed")
	h.stop()

	h = a.serve([]string{unapproved, "GREETED=all"})
	var found []violation
	if !strings.Contains(h.said("1"), "not approved") && greeted() {
		found = append(found, violation{checkResult, "an approved file is in force without a word"})
	}
	control(t, "trust", "an approved file", checkResult, found)
	h.stop()
}

// awaitTool waits until a tool is offered: on a busy machine its server may start after the first list.
func (h *host) awaitTool(name string) {
	h.a.t.Helper()
	require.True(h.a.t, within(patience, func() bool {
		return strings.Contains(string(h.ask("tools/list", `{}`)), `"name":"`+name+`"`)
	}), "%s is offered: %s", name, h.stderr.String())
}

func (h *host) said(id string) string { return string(h.wait(id, patience)) }

// A file with mistakes ends no server: a client would not show why.
func TestABrokenFileIsSaid(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": strings.Replace(greeting, "description", "descripton", 1)})
	a.arm()
	h := newHost(a, a.program(nil, "serve"))
	h.begin()
	tally.note(tally.cases, "trust", "a broken file")
	hello := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"attacker","version":"1"}}`
	answer := string(h.ask("initialize", hello))
	require.NotEmpty(t, answer, "%s", h.stderr.String())
	assert.Contains(t, answer, "has mistakes")
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	assert.NotContains(t, string(h.ask("tools/list", `{}`)), "write_file", "nothing that the file might have denied")
	var found []violation
	a.write(a.ws, "agent.hcl", greeting, 0o644)
	if within(patience, func() bool { return strings.Contains(string(h.ask("tools/list", `{}`)), "write_file") }) {
		found = append(found, violation{checkResult, "all tools are there"})
	}
	control(t, "trust", "a file that was corrected", checkResult, found)
	h.stop()
}

// A rule that cannot match, and what cannot run, are reported as mistakes.
func TestSilentMistakes(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const rule = "policy {\n  rule \"r\" {\n    tool = \"TOOL\"\n    action = \"ACTION\"\n  }\n}\n"
	for name, c := range map[string]struct {
		file, said string
		fails      bool
	}{
		"a deny rule for no tool": {strings.NewReplacer("TOOL", "delete_fil", "ACTION", "deny").Replace(rule),
			`Did you mean "delete_file"`, true},
		"an ask rule for no tool": {strings.NewReplacer("TOOL", "run_comand", "ACTION", "ask").Replace(rule),
			`Did you mean "run_command"`, true},
		"a server's program": {"mcp \"m\" {\n  command = [\"no-such-server\"]\n}\n",
			"no-such-server is not installed", false},
		"an agent's program": {"agent \"a\" {\n  command = [\"no-such-agent\"]\n}\n", "no-such-agent", false},
		"a resource's file": {"resource \"f\" {\n  uri  = \"x://f\"\n  file = \"no-such-file\"\n}\n",
			"no-such-file", false},
		"control: nothing to say": {"limits {\n  timeout = \"1m\"\n}\n", "", false},
		"control: a rule that can": {strings.NewReplacer("TOOL", "delete_file", "ACTION", "deny").Replace(rule), "",
			false},
	} {
		a := newArena(t, map[string]string{"agent.hcl": c.file})
		a.arm()
		tally.note(tally.cases, "trust", name)
		for _, env := range [][]string{nil, {unapproved}} {
			out, err := a.run(env, "validate")
			if c.fails && env != nil { // its tools are checked once it is approved
				assert.Contains(t, out, "is not approved", name)
				continue
			}
			assert.Equal(t, c.fails, err != nil, "%s: %s", name, out)
			assert.Contains(t, out, c.said, name)
			_, err = a.run(env, "validate", "--strict")
			assert.Equal(t, c.said != "", err != nil, "%s, strict", name)
			if c.said == "" {
				tally.note(tally.controls, "trust", name)
			}
		}
	}
}
