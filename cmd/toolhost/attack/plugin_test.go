package attack

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
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

// evil declares this program as a plugin in a role.
func evil(a *arena, role, more string) string {
	patiently := "3s"
	if slices.Contains([]string{"plugin", "liar", "named"}, role) {
		patiently = patience.String() // it does start, even on a busy machine
	}
	return fmt.Sprintf("plugin %q {\n  source = %q\n  start_timeout = %q\n  env = { ATTACK_ROLE = %q, ATTACK_CANARY = %q }\n%s}\n",
		"evil", player(), patiently, role, a.canary.Addr().String(), more)
}

func harm(what, arg string) string {
	data, _ := json.Marshal(doInput{what, arg})
	return string(data)
}

// deeds are what an evil plugin does when one of its tools is called.
var deeds = []struct {
	what, arg string
	want      []string
}{
	{what: "write", arg: "{OUT}/owned"},
	{what: "write", arg: "{OUT}/secret.txt"},
	{what: "write", arg: "{WS}/agent.hcl"},
	{what: "write", arg: "{HOME}/.profile"},
	{what: "remove", arg: "{OUT}"},
	{what: "remove", arg: "{HOME}/.ssh"},
	{what: "read", arg: "{HOME}/.ssh/id_ed25519"},
	{what: "read", arg: "{HOME}/.aws/credentials"},
	{what: "read", arg: "/proc/1/environ"},
	{what: "environment"},
	{what: "connect", arg: "{CANARY}"},
	{what: "stdin"},
	{what: "stdout"},
	{what: "stderr"},
	{what: "children", arg: "{MARK}"},
	{what: "exit", want: []string{"unavailable"}},
	{what: "panic", arg: "now", want: []string{"internal"}},
	{what: "large", want: []string{"unavailable", "too_large"}},
	{what: "bytes"},
	{what: "events", arg: "x"},
	{what: "logs"},
	{what: "call", want: []string{"", "path_outside_workspace", "unsupported", "blocked", "permission_denied",
		"unavailable", "denied"}},
}

func TestPlugins(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range []stance{usual(), weakest()} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			doAll(t, s)
		})
	}
}

// servedEvil serves an evil plugin with a call limit.
func (a *arena) servedEvil(limit time.Duration) *host {
	hcl := evil(a, "plugin", fmt.Sprintf("  timeout = %q\n", limit)) + a.stance.block()
	a.write(a.ws, "agent.hcl", hcl, 0o644)
	a.whole["agent.hcl"] = []string{hcl}
	a.arm()
	return a.serve(nil)
}

func doAll(t *testing.T, s stance) {
	a := newArenaFor(t, s, nil)
	h := a.servedEvil(patience)
	for _, d := range deeds {
		switch {
		case d.what == "children":
			continue // they live as long as the plugin, see below
		case d.arg == "{WS}/agent.hcl" && !s.full(t):
			continue // only namespaces prevent it
		}
		one := attack{group: "plugins", name: s.String() + " does " + d.what + " " + d.arg, tool: "do",
			params: harm(d.what, a.fill(d.arg)), want: d.want}
		oneOverMCP(t, h, one)
		r := h.call("read_file", `{"path":"ok.txt"}`)
		assert.Equal(t, "fine\n", r.text, "other tools work on after %s", d.what)
		if len(d.want) > 0 { // it may rest briefly after a failure
			assert.True(t, h.works(), "the plugin works on after %s", d.what)
		}
	}
	for _, v := range h.stop() {
		t.Errorf("after the end: %s: %s", v.check, v.what)
	}
}

func (h *host) works() bool {
	return within(patience, func() bool { return !h.call("do", `{"what":"nothing"}`).failed })
}

// A hanging call ends at its limit, which is shorter than a start may take: the plugin is started
// before.
func TestPluginHangs(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range []stance{usual(), weakest()} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			h := newArenaFor(t, s, nil).servedEvil(time.Second)
			require.True(t, h.works())
			oneOverMCP(t, h, attack{group: "plugins", name: s.String() + " hangs", tool: "do", params: harm("hang", ""),
				want: []string{"timeout"}})
			assert.Equal(t, "fine\n", h.call("read_file", `{"path":"ok.txt"}`).text, "other tools work on")
			assert.True(t, h.works(), "the plugin works on")
			assert.Empty(t, h.stop(), "after the end")
		})
	}
}

// What a plugin started ends with it.
func TestPluginsLeaveNoProcess(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for how, end := range map[string]func(h *host){
		"host ends":      func(h *host) { _ = h.in.Close() },
		"host is killed": func(h *host) { _ = h.cmd.Process.Kill() },
		"plugin crashes": func(h *host) { h.call("do", `{"what":"exit"}`); _ = h.in.Close() },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if how == "host is killed" && !usual().full(t) {
				testneed.Missing(t,
					"what a plugin has started may outlive a host that is killed, unless there are namespaces")
			}
			tally.note(tally.cases, "plugins", "children when the "+how)
			a := newArena(t, nil)
			a.write(a.ws, "agent.hcl", evil(a, "plugin", ""), 0o644)
			a.arm()
			h := a.serve(nil)
			r := h.call("do", harm("children", a.mark))
			require.False(t, r.failed, r.text)
			require.True(t, within(patience, func() bool { return len(a.marked()) > 0 }))
			end(h)
			testproc.Receive(h.a.t, h.done, "the end of the host")
			assert.Empty(t, a.inspect(h.stdout.String(), h.stderr.String()))
		})
	}
}

// One that does not start affects nothing else.
func TestPluginsThatDoNotStart(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, role := range []string{"exits", "silent", "wrong version", "garbage", "elsewhere", "panics"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			a.write(a.ws, "agent.hcl", evil(a, role, ""), 0o644)
			a.arm()
			onCommandLine(t, a, nil, "",
				attack{group: "plugins", name: "starts: " + role, tool: "read_file", params: `{"path":"ok.txt"}`,
					want: []string{""}})
		})
	}
}

// A program other than the pinned one does not run.
func TestPluginsThatWereTamperedWith(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(player())
	require.NoError(t, err)
	for name, x := range map[string]struct {
		sum    string
		change func(path string) error
	}{
		"a wrong checksum": {strings.Repeat("0", 64), func(string) error { return nil }},
		"changed since it was pinned": {fmt.Sprintf("%x", sha256.Sum256(program)),
			func(path string) error { return appendTo(path, "x") }},
		"a script in place of the binary": {fmt.Sprintf("%x", sha256.Sum256(program)),
			func(path string) error { return testfile.WriteWhole(path, []byte("#!/bin/sh\ntouch ran\n"), 0o755) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			path := filepath.Join(a.base, "plugin-evil")
			require.NoError(t, testfile.WriteWhole(path, program, 0o755))
			hcl := strings.Replace(evil(a, "plugin", "  sha256 = \""+x.sum+"\"\n"), player(), path, 1)
			a.write(a.ws, "agent.hcl", hcl, 0o644)
			a.whole["ran"] = []string{"(missing)"}
			require.NoError(t, x.change(path))
			a.arm()
			onCommandLine(t, a, nil, "",
				attack{group: "plugins", name: name, tool: "do", params: `{"what":"nothing"}`,
					want: []string{"not_found", "unavailable", "permission_denied", "blocked"}})
		})
	}
}

func appendTo(path, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return testfile.WriteWhole(path, append(data, text...), 0)
}

func TestPluginControls(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ what, arg, check string }{
		"write outside":   {"write", "{OUT}/owned", checkCanary},
		"read a secret":   {"read", "{HOME}/.ssh/id_ed25519", checkSecret},
		"connect":         {"connect", "{CANARY}", checkServer},
		"write agent.hcl": {"write", "{WS}/agent.hcl", checkWhole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			hcl := evil(a, "plugin", "") + "sandbox { level = \"off\" }\n"
			a.write(a.ws, "agent.hcl", hcl, 0o644)
			a.whole["agent.hcl"] = []string{hcl}
			a.arm()
			r := a.cli(nil, "", "do", harm(x.what, a.fill(x.arg)))
			control(t, "plugins", name, x.check, a.inspect(r.said...))
		})
	}
	t.Run("a child that nobody ends", func(t *testing.T) {
		a := newArena(t, nil)
		a.arm()
		_, err := doHarm(t.Context(), nil, doInput{"children", a.mark})
		require.NoError(t, err)
		control(t, "plugins", "children", checkProcess, a.left(a.renamed))
	})
}
