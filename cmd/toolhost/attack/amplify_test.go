package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Small inputs with large effects: a log, a pattern, a link.

// serveLoudly is serveEvilMCP, after much output on stderr.
func serveLoudly() {
	var lines int
	_, _ = fmt.Sscan(os.Getenv("ATTACK_LINES"), &lines)
	for range lines {
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000))
	}
	serveEvilMCP()
}

func loudUpstream(lines int) string {
	return strings.Replace(upstream(""), `ATTACK_ROLE = "mcp"`,
		fmt.Sprintf(`ATTACK_ROLE = "loud", ATTACK_LINES = "%d"`, lines), 1)
}

// A server's output cannot fill the log.
func TestAServerFillsTheLog(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const lines = 8000
	a := newArena(t, map[string]string{"agent.hcl": loudUpstream(lines), "tools.json": offering(innocent, "greet")})
	a.arm()
	tally.note(tally.cases, "mcp", "a server fills the log")
	h := a.serve(nil, "--log-level", "debug")
	served := func() bool { return h.finish(h.startCall("greet", `{}`), time.Now()).text == "served" }
	assert.True(t, within(patience, served))
	assert.Empty(t, h.stop())
	assert.Less(t, len(h.stderr.String()), mostAnswer)
	assert.Contains(t, h.stderr.String(), "xxxxxxxx", "some of it is there")

	loud := newArena(t, map[string]string{"agent.hcl": loudUpstream(20), "tools.json": offering(innocent, "greet")})
	loud.arm()
	h = loud.serve(nil, "--log-level", "debug")
	assert.True(t, within(patience, served))
	assert.Empty(t, h.stop())
	var found []violation
	if log := h.stderr.String(); strings.Count(log, strings.Repeat("x", 900)) >= 20 {
		found = append(found, violation{checkResult, "all that the server said is in the log"})
	}
	control(t, "mcp", "what a server says is in the log", checkResult, found)
}

// slowPattern takes minutes for a line of some megabytes without a match.
const slowPattern = `([a-z]{0,100}[0-9]?){0,9}([a-z]{0,100}){0,5}[x-z]{3}$`

// A search ends in time, whatever its pattern, and its work too.
func TestASearchOfALongLine(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	quoted, err := json.Marshal(slowPattern)
	require.NoError(t, err)
	without := "PATH=" + t.TempDir() // without an external search program
	for toolset, search := range map[string]struct{ tool, params string }{
		"clemini":    {"grep", `{"pattern":%s}`},
		"ocode":      {"grep", `{"pattern":%s}`},
		"agentbench": {"search", `{"query":%s,"is_regex":true}`},
	} {
		t.Run(toolset, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, map[string]string{"agent.hcl": "limits {\n  timeout = \"3s\"\n}\n",
				"long.txt": strings.Repeat("ab", 8<<20) + "\n", "other.txt": "abxyz\n"})
			a.arm()
			h := a.serve([]string{without}, "--toolset", toolset)
			x := attack{group: "bounds", name: "slow pattern " + toolset, tool: search.tool,
				params: fmt.Sprintf(search.params, quoted)}
			tally.note(tally.cases, x.group, x.name)
			h.finish(h.startCall(x.tool, x.params), time.Now())
			assert.True(t, within(patience, func() bool { return h.idles(t) }), "the host works on after the answer")
			require.NoError(t, os.Remove(filepath.Join(a.ws, "long.txt")))
			tally.note(tally.controls, "bounds", "that pattern in a short line "+toolset)
			assert.True(t, within(patience, func() bool {
				answer := h.ask("tools/call", `{"name":"`+x.tool+`","arguments":`+x.params+`}`)
				return strings.Contains(string(answer), "abxyz")
			}), "it is found where that takes no time")
			h.stop()
		})
	}
}

// idles reports whether the host uses almost no CPU for a while.
func (h *host) idles(t *testing.T) bool {
	t.Helper()
	ticks := func() (sum int) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.cmd.Process.Pid))
		require.NoError(t, err)
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		for _, field := range fields[11:13] { // utime, stime
			n, _ := strconv.Atoi(field)
			sum += n
		}
		return sum
	}
	before := ticks()
	time.Sleep(500 * time.Millisecond)
	return ticks()-before <= 2
}

// A call ends in time, whatever pattern its parameters are matched with.
func TestAPatternOfALongParameter(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const declared = "tool \"say\" {\n  description = \"Say. Returns: it.\"\n  param \"x\" {\n    type = string\n" +
		"    PATTERN\n  }\n  command {\n    argv  = [\"cat\"]\n    stdin = param.x\n  }\n}\n"
	const rule = "policy {\n  rule \"r\" {\n    tool = \"say\"\n    params = PATTERN\n    action = \"ACTION\"\n  }\n}\n"
	quoted := fmt.Sprintf("%q", slowPattern)
	long, err := json.Marshal(map[string]string{"x": strings.Repeat("ab", 4<<20)})
	require.NoError(t, err)
	for name, c := range map[string]struct{ file, want string }{
		"of a schema": {strings.Replace(declared, "PATTERN", "pattern = "+quoted, 1), "invalid_argument"},
		"of a rule that denies": {strings.Replace(declared, "PATTERN", "", 1) +
			strings.NewReplacer("PATTERN", strings.Replace(quoted, "$", "", 1), "ACTION", "deny").Replace(rule),
			"denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, map[string]string{"agent.hcl": c.file})
			a.arm()
			onCommandLine(t, a, nil, "",
				attack{group: "bounds", name: "a pattern " + name, tool: "say", params: string(long),
					want: []string{c.want}})
			tally.note(tally.controls, "bounds", "a pattern "+name+" and a short text")
			r := a.cli(nil, "", "say", `{"x":"abxyz"}`)
			assert.Equal(t, c.want == "denied", r.code == "denied", "a short text that matches: %s", r.said)
		})
	}
}

// An agent.hcl that is a link shows nothing of its target.
func TestALinkedFileIsQuoted(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, target := range map[string]string{"outside": "../outside/secret.txt", "a key": "../home/.ssh/id_ed25519",
		"a credential": "../home/.aws/credentials"} {
		a := newArena(t, nil)
		a.link(target, "agent.hcl")
		a.arm()
		for _, args := range [][]string{{"validate"}, {"validate", "--json"}, {"list"}, {"doctor"}, {"trust", "--show"},
			{"call", "read_file", "path=ok.txt"}, {"fmt"}} {
			tally.note(tally.cases, "trust", "a link to "+name+", "+args[0])
			out, _ := a.run([]string{unapproved}, args...)
			for _, v := range a.inspect(out) {
				t.Errorf("%s, %v: %s: %s", name, args, v.check, v.what)
			}
		}
	}
	a := newArena(t, nil)
	a.write(a.ws, "agent.hcl", "own: "+a.secret+"\n", 0o644)
	a.arm()
	out, _ := a.run([]string{unapproved}, "validate")
	control(t, "trust", "a file of the project's own is quoted", checkSecret, a.inspect(out))
}
