package attack

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// dies bounds the program's end after SIGTERM. Every wait below is longer.
const dies = 20 * time.Second

// wait is something that toolhost waits for and that never comes.
type wait struct {
	name  string
	files map[string]string
	// call is the tool and its parameters; args is another command line.
	call [2]string
	args []string
	// serve waits in a server instead of a command-line call.
	serve bool
	// before prepares the arena, and returns what detects that the wait has begun, besides the call's
	// beginning.
	before func(a *arena) func() bool
}

// silent is a server that accepts connections and sends nothing.
func silent(t *testing.T) (address string, reached func() bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	came := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			came <- struct{}{}
		}
	}()
	return l.Addr().String(), func() bool { return len(came) > 0 }
}

func held(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
}

// waits returns one of every kind.
func waits(t *testing.T) []wait {
	web, webReached := silent(t)
	model, modelReached := silent(t)
	upstreamURL, upstreamReached := silent(t)
	sleeps := "tool \"sleeps\" {\n  description = \"Sleep. Returns: nothing.\"\n  command { argv = [\"sleep\", \"1000\"] }\n}\n"
	deaf := "tool \"deaf\" {\n  description = \"Sleep. Returns: nothing.\"\n" +
		"  command { argv = [\"sh\", \"-c\", \"trap '' TERM INT HUP; echo on > on; while :; do sleep 1; done\"] }\n}\n"
	mcp := func(role string) string {
		return fmt.Sprintf("mcp \"up\" {\n  command = [%q]\n  start_timeout = \"10m\"\n  env = { ATTACK_ROLE = %q }\n}\n", player(), role)
	}
	on := func(a *arena) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(a.ws, "on")); return err == nil }
	}
	once := func(f func() bool) func(*arena) func() bool { return func(*arena) func() bool { return f } }
	return []wait{
		{name: "a command", files: map[string]string{"agent.hcl": sleeps}, call: [2]string{"sleeps", `{}`}},
		{name: "a command in a server", files: map[string]string{"agent.hcl": sleeps}, call: [2]string{"sleeps", `{}`},
			serve: true},
		{name: "a command that ignores signals", files: map[string]string{"agent.hcl": deaf},
			call: [2]string{"deaf", `{}`}, before: on},
		{name: "a task", files: map[string]string{".agent/Taskfile.yml": "version: '3'\ntasks:\n  long:\n" +
			"    desc: Sleep.\n    cmds: [\"echo on > on; sleep 1000\"]\n"}, call: [2]string{"run_command",
			`{"command":"long"}`}, before: on},
		{name: "the lock of a directory", call: [2]string{"write_file", `{"path":"sub/f.txt","content":"x"}`},
			files: map[string]string{"sub/f.txt": ""}, before: func(a *arena) func() bool {
				held(a.t, filepath.Join(a.ws, "sub"))
				return nil
			}},
		{name: "the lock of a directory in a server",
			call:  [2]string{"write_file", `{"path":"sub/f.txt","content":"x"}`},
			files: map[string]string{"sub/f.txt": ""}, serve: true, before: func(a *arena) func() bool {
				held(a.t, filepath.Join(a.ws, "sub"))
				return nil
			}},
		{name: "a download",
			files: map[string]string{"agent.hcl": "web {\n  allow = [\"127.0.0.1\"]\n  timeout = \"10m\"\n}\n"},
			call:  [2]string{"web_fetch", `{"url":"http://` + web + `/"}`}, before: once(webReached)},
		{name: "a server at a URL",
			files: map[string]string{"agent.hcl": fmt.Sprintf(
				"mcp \"up\" {\n  url = \"http://%s/mcp\"\n  start_timeout = \"10m\"\n}\n", upstreamURL)},
			args: []string{"call", "any"}, before: once(upstreamReached)},
		{name: "the start of a server", files: map[string]string{"agent.hcl": mcp("silent")}, args: []string{"doctor"},
			before: func(a *arena) func() bool { return func() bool { return a.children() > 0 } }},
		{name: "a model", files: map[string]string{
			"agent.hcl": fmt.Sprintf("model {\n  url = \"http://%s/v1\"\n  model = \"m\"\n  timeout = \"10m\"\n}\n",
				model) + upstream(""), "tools.json": offering("Ask.", "sample"),
		}, call: [2]string{"sample", `{}`}, before: once(modelReached)},
		{name: "an approval in a server", files: map[string]string{"agent.hcl": askAll},
			call: [2]string{"write_file", `{"path":"f.txt","content":"x"}`}, serve: true},
		{name: "parameters", args: []string{"call", "write_file", "--params", "-"}},
		{name: "events", args: []string{"events", "--follow"}},
		{name: "its clients", args: []string{"serve", "--http", "127.0.0.1:0"}},
	}
}

// SIGTERM ends the program, whatever it waits for, with its child processes.
func TestWaitsEndAtSIGTERM(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, w := range waits(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "processes", "SIGTERM while toolhost waits for "+w.name)
			a := newArena(t, w.files)
			var begun func() bool
			if w.before != nil {
				begun = w.before(a)
			}
			a.arm()
			h := w.start(t, a)
			if w.call[0] != "" {
				require.True(t, within(patience, a.calling), "the call begins: %s", h.stderr.String())
			}
			if begun != nil {
				require.True(t, within(patience, begun), "the wait begins: %s", h.stderr.String())
			}
			if w.serve && strings.HasPrefix(w.name, "an approval") {
				require.True(t, within(patience, func() bool { return h.printed("elicitation/create") }))
			}
			select {
			case <-h.done:
				t.Fatalf("it does not wait: %s %s", h.stdout.String(), h.stderr.String())
			default:
			}
			require.NoError(t, h.cmd.Process.Signal(syscall.SIGTERM))
			select {
			case <-h.done:
			case <-time.After(dies):
				t.Errorf("it goes on %s after SIGTERM", dies)
				require.NoError(t, h.cmd.Process.Kill())
				testproc.Receive(h.a.t, h.done, "the end of the host")
			}
			assert.True(t, within(dies, func() bool { return a.children() == 0 }), "it leaves processes")
		})
	}
	naive := exec.Command("sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.1; done")
	out, err := naive.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, naive.Start())
	_, _ = out.Read(make([]byte, 2))
	require.NoError(t, naive.Process.Signal(syscall.SIGTERM))
	tally.note(tally.controls, "processes", "a program that ignores SIGTERM")
	assert.NoError(t, naive.Process.Signal(syscall.Signal(0)), "it goes on")
	require.NoError(t, naive.Process.Kill())
	_ = naive.Wait()
}

// start starts the program and makes it wait. Its input stays open.
func (w wait) start(t *testing.T, a *arena) *host {
	t.Helper()
	args := w.args
	switch {
	case w.serve:
		args = []string{"serve"}
	case args == nil:
		args = []string{"call", w.call[0], "--params", w.call[1]}
	}
	h := newHost(a, a.program(nil, args...))
	h.begin()
	if w.serve {
		hello := `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"attacker","version":"1"}}`
		require.NotNil(t, h.ask("initialize", hello), "%s", h.stderr.String())
		h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		h.startCall(w.call[0], w.call[1])
	}
	if w.name == "parameters" { // more than a pipe holds, so it has been read
		_, err := io.WriteString(h.in, strings.Repeat(" ", 100<<10))
		require.NoError(t, err)
	}
	if w.args != nil {
		require.True(t, within(patience, func() bool { return a.handles(h.cmd.Process.Pid) }), "it has begun")
	}
	return h
}

func (h *host) printed(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(h.stdout.String(), text)
}

func (a *arena) calling() bool {
	for _, file := range a.recorded() {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("tool_call_started")) {
			return true
		}
	}
	return false
}

// handles reports whether a process catches SIGTERM yet.
func (a *arena) handles(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if hex, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			var caught uint64
			_, _ = fmt.Sscanf(strings.TrimSpace(hex), "%x", &caught)
			return caught&(1<<(uint(syscall.SIGTERM)-1)) != 0
		}
	}
	return false
}

func (a *arena) children() (n int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, dir := range dirs {
		program, _ := os.Readlink(filepath.Join(filepath.Dir(dir), "exe"))
		at, err := os.Readlink(dir)
		if err == nil && (at == a.ws || strings.HasPrefix(at, a.ws+"/")) && filepath.Base(program) != "toolhost" {
			n++
		}
	}
	return n
}
