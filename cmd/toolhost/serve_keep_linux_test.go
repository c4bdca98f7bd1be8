package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// neighbours is a project with two plugins and two MCP servers, which are toolhost itself, each with a
// mark in its environment.
type neighbours struct {
	t    *testing.T
	dir  string
	mark string
}

func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	n := &neighbours{t: t, dir: t.TempDir(), mark: fmt.Sprintf("keep-%d-%d-", os.Getpid(), time.Now().UnixNano())}
	plant(t, n.dir, texts{"elsewhere/": ""})
	script := "#!/bin/sh\nexec '" + filepath.Join(binaries, "toolhost") + "' internal plugin cliagent\n"
	testfile.Program(t, filepath.Join(n.dir, "plug"), script)
	return n
}

// hcl returns agent.hcl with those settings for the second plugin and server, and more.
func (n *neighbours) hcl(env, more string) string {
	text := "sandbox {\n  level = \"off\"\n}\n" + more
	for _, name := range []string{"one", "two"} {
		rest := map[string]string{"one": "always", "two": env}[name]
		text += fmt.Sprintf("plugin %q {\n  source = \"./plug\"\n  prefix = \"%s_\"\n"+
			"  env = { MARK = \"%splugin-%s\", MORE = %q }\n}\n", name, name, n.mark, name, rest)
		text += fmt.Sprintf("mcp \"up%s\" {\n  command = [%q, \"serve\", \"--workspace\", \"elsewhere\", "+
			"\"--toolset\", \"cliagent\"]\n  prefix = \"up%s_\"\n"+
			"  env = { MARK = \"%sserver-%s\", MORE = %q, HOME = %q, TOOLHOST_TRUST = \"1\" }\n}\n",
			name, filepath.Join(binaries, "toolhost"), name, n.mark, name, rest, filepath.Join(n.dir, "home"))
	}
	return text
}

func (n *neighbours) change(s *rpcServer, hcl string) {
	n.t.Helper()
	n.attempt(s, hcl, "was read again")
}

// attempt writes agent.hcl and waits for the log's message.
func (n *neighbours) attempt(s *rpcServer, hcl, says string) {
	n.t.Helper()
	before := strings.Count(s.log(), says)
	testproc.Replace(n.t, filepath.Join(n.dir, "agent.hcl"), hcl)
	s.until("the change", func() bool { return strings.Count(s.stderr.String(), says) > before })
}

// pids returns the process of each plugin and server, by "plugin-one" and so on. Their children have
// the mark too and are younger.
func (n *neighbours) pids() map[string]int {
	found := make(map[string]int)
	for _, name := range []string{"plugin-one", "plugin-two", "server-one", "server-two"} {
		if all := marked(n.mark + name); len(all) > 0 {
			found[name] = all[0]
		}
	}
	return found
}

const waits = `{"command":"echo > %s; while [ ! -e %s/go ]; do sleep 0.05; done; echo went on"}`

func TestAReloadLeavesAloneWhatDidNotChange(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	n := newNeighbours(t)
	plant(t, n.dir, texts{"agent.hcl": n.hcl("a", "")})
	s := serve(t, n.dir, "--log-level", "info")
	all := []string{"one_run_in_terminal", "two_run_in_terminal", "upone_run_in_terminal", "uptwo_run_in_terminal"}
	eventually(t, "all tools are there", func() bool {
		names := " " + strings.Join(s.offered(), " ") + " "
		for _, name := range all {
			if !strings.Contains(names, " "+name+" ") {
				return false
			}
		}
		return true
	})
	calls := make(map[string]string)
	for _, name := range all {
		calls[name] = s.startCall(name, fmt.Sprintf(waits, filepath.Join(n.dir, name), n.dir))
	}
	for _, name := range all {
		eventually(t, name+" runs", func() bool { return exists(n.dir, name) })
	}
	before := n.pids()
	require.Len(t, before, 4)
	told := s.noted(listChanged)

	n.change(s, n.hcl("b", ""))
	after := n.pids()
	assert.Equal(t, before["plugin-one"], after["plugin-one"])
	assert.Equal(t, before["server-one"], after["server-one"])
	eventually(t, "the changed plugin runs again beside the old one, which has a call", func() bool {
		return len(marked(n.mark+"plugin-two")) == len(marked(n.mark+"plugin-one"))+1 // their sleeps come and go
	})
	plant(t, n.dir, texts{"go": ""})
	for name, id := range calls {
		r := s.result(id)
		assert.False(t, r.IsError, name)
		assert.Contains(t, r.text(), "went on", name)
	}
	eventually(t, "the old processes of what changed end", func() bool {
		now := n.pids()
		return len(now) == 4 && now["plugin-two"] != before["plugin-two"] && now["server-two"] != before["server-two"]
	})
	assert.Equal(t, told, s.noted(listChanged), "the list is the same")

	n.change(s, n.hcl("b", extra("more")))
	s.until("the list", func() bool { return s.notedLocked(listChanged) > told })
	assert.Contains(t, s.offered(), "more")
	changed := n.pids()
	assert.Equal(t, before["plugin-one"], changed["plugin-one"])
	assert.Equal(t, before["server-one"], changed["server-one"])
	assert.False(t, s.call("two_run_in_terminal", `{"command":"echo hi"}`).IsError)
	assert.Equal(t, changed, n.pids())

	told = s.noted(listChanged)
	n.change(s, "sandbox {\n  level = \"off\"\n}\n"+extra("more"))
	s.until("the list", func() bool { return s.notedLocked(listChanged) > told })
	assert.NotContains(t, s.offered(), "one_run_in_terminal")
	eventually(t, "what was taken out has ended", func() bool { return len(marked(n.mark)) == 0 })
	assert.Zero(t, s.end())
}

// TestReloadsLeaveNothingBehind reloads 50 times, 100 times with make long.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	reloads := 50
	if testneed.Long() {
		reloads = 100
	}
	n := newNeighbours(t)
	file := filepath.Join(n.dir, "agent.hcl")
	plant(t, n.dir, texts{"agent.hcl": n.hcl("start", "")})
	t.Setenv("TOOLHOST_TRUST", "1")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard,
		flags: globalFlags{config: file, logLevel: "error", color: "never"}, patience: listPatience}
	require.NoError(t, a.setUp())
	p, err := a.open(t.Context())
	require.NoError(t, err)
	defer p.Close()
	p.OwnSessions()
	eventually(t, "all run", func() bool { return len(n.pids()) == 4 })
	before := n.pids()
	for i := range reloads {
		env := "start"
		if i%5 == 0 {
			env = fmt.Sprint(i)
		}
		plant(t, n.dir, texts{"agent.hcl": n.hcl(env, extra(fmt.Sprint("tool", i)))})
		require.NoError(t, p.Reload(t.Context()), i)
		eventually(t, "what is replaced ends meanwhile", func() bool { return len(marked(n.mark)) < 20 })
	}
	assert.Equal(t, before["plugin-one"], n.pids()["plugin-one"])
	assert.Equal(t, before["server-one"], n.pids()["server-one"])
	eventually(t, "one process of each is left", func() bool { return len(marked(n.mark)) <= 4 })
	p.Close()
	eventually(t, "none is left", func() bool { return len(marked(n.mark)) == 0 })
}

// An unusable change leaves everything unchanged, with the reason in the log and in doctor.
func TestAChangeThatDoesNotWorkIsNotMade(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	n := newNeighbours(t)
	good := n.hcl("a", "")
	plant(t, n.dir, texts{"agent.hcl": good})
	s := serve(t, n.dir, "--log-level", "info")
	hi := `{"command":"echo hi"}`
	eventually(t, "the servers are connected",
		func() bool { return strings.Contains(strings.Join(s.offered(), " "), "uptwo_run_in_terminal") })
	for _, name := range []string{"one_run_in_terminal", "two_run_in_terminal", "uptwo_run_in_terminal"} {
		require.Contains(t, s.call(name, hi).text(), "hi")
	}
	before := n.pids()
	told := s.noted(listChanged)

	dead := strings.Replace(good, `"serve", "--workspace", "elsewhere"`, `"no-command"`, 2)
	for _, tt := range []struct {
		name, hcl, says string
	}{
		{"agent.hcl", good + "tool {\n", "agent.hcl"},
		{"a server that dies", dead, "the MCP server up"},
	} {
		n.attempt(s, tt.hcl+extra("never"), "is not used")
		s.until(tt.name, func() bool { return strings.Contains(s.stderr.String(), tt.says) })
		eventually(t, tt.name+" in doctor", func() bool { return strings.Contains(doctor(t, n.dir), tt.says) })
		assert.Contains(t, s.call("uptwo_run_in_terminal", hi).text(), "hi", tt.name)
		assert.Equal(t, before, n.pids(), tt.name)
		assert.NotContains(t, s.offered(), "never")
	}
	n.change(s, good)
	assert.Empty(t, doctor(t, n.dir))

	replaceFile := func(data []byte, says string) {
		t.Helper()
		next := filepath.Join(n.dir, "next")
		testfile.Program(t, next, string(data))
		seen := strings.Count(s.log(), says)
		require.NoError(t, os.Rename(next, filepath.Join(n.dir, "plug")))
		s.until("the replaced program", func() bool { return strings.Count(s.stderr.String(), says) > seen })
	}
	script, err := os.ReadFile(filepath.Join(n.dir, "plug"))
	require.NoError(t, err)
	replaceFile([]byte("\x7fELF garbage"), "is not used")
	assert.Contains(t, s.call("one_run_in_terminal", hi).text(), "hi", "the process that runs goes on")
	assert.Equal(t, before, n.pids())
	assert.Contains(t, doctor(t, n.dir), "plugin one")
	replaceFile(script, "was read again")
	assert.Contains(t, s.call("one_run_in_terminal", hi).text(), "hi")
	eventually(t, "the old process ends",
		func() bool { return !slices.Contains(marked(n.mark+"plugin-one"), before["plugin-one"]) })
	assert.Empty(t, doctor(t, n.dir))
	assert.Equal(t, told, s.noted(listChanged), "the list was the same all the time")
}
