package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

// Links of results, and tasks, after their worker program was ended by a signal that it
// cannot catch.
func TestKilledWorkerProgram(t *testing.T) {
	f := &theFleet{place: newPlace(t)}
	f.write("agent.hcl", slow)
	f.write("fleet.hcl", strings.ReplaceAll(`
workspace "tools" {
  empty  = true
  config = "HOME/agent.hcl"
}
`, "HOME", f.home))
	f.store = filepath.Join(f.home, "hub")
	f.hubURL = f.start("hub", "--listen", "127.0.0.1:0", "--store", f.store).find(`hub is at (\S+),`)
	url := f.start("serve", "--http", "127.0.0.1:0", "--no-token", "--hub", f.hubURL, "--key", f.key("gateway"),
		"--fleet-config", "fleet.hcl").find(`serves MCP at (\S+)`)
	start := func(name string) *process {
		w := f.start("worker", "--hub", f.hubURL, "--key", f.key("worker"), "--dir", filepath.Join(f.home, name),
			"--task-after", "50ms", "--pack-after", "10ms")
		w.find("takes sessions")
		return w
	}
	first := start("one")
	knows(t, strings.TrimSuffix(url, "/mcp"), 1)
	task := callAsTask(t, url+"/tools", "slow", `{"file":"go"}`)
	start("two")
	first.kill()

	isLost(t, url+"/tools", task)
}

// chatty has a tool that prints much, and then waits.
const chatty = `
tool "chatty" {
  description = "Print much, then wait for the file go. Returns: the end."
  risk        = "dangerous"
  command {
    argv = ["sh", "-c", "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done; while [ ! -e go ]; do sleep 0.05; done; echo end"]
  }
}
`

// A gateway killed during two calls that print frees their slots before they end,
// and another takes over a stream at once.
func TestKilledGatewayProgram(t *testing.T) {
	f := &theFleet{place: newPlace(t)}
	f.write("agent.hcl", chatty+notes)
	f.write("fleet.hcl", "workspace \"tools\" {\n  empty = true\n  config = \""+filepath.Join(f.home, "agent.hcl")+"\"\n}\n")
	f.store = filepath.Join(f.home, "hub")
	f.hubURL = f.start("hub", "--listen", "127.0.0.1:0", "--store", f.store).find(`hub is at (\S+),`)
	gateway := func() (*process, string) {
		g := f.start("serve", "--http", "127.0.0.1:0", "--no-token", "--hub", f.hubURL, "--key", f.key("gateway"),
			"--fleet-config", "fleet.hcl")
		return g, g.find(`serves MCP at (\S+)`)
	}
	first, url1 := gateway()
	_, url2 := gateway()
	f.start("worker", "--hub", f.hubURL, "--key", f.key("worker"), "--dir", filepath.Join(f.home, "one"), "--slots", "2",
		"--queue", "1").find("takes sessions")
	for _, url := range []string{url1, url2} {
		knows(t, strings.TrimSuffix(url, "/mcp"), 1)
	}
	running := func(is string) {
		testproc.Until(t, is+" calls run", func() (bool, string) {
			_, text := ask(strings.TrimSuffix(url2, "/mcp") + "/metrics")
			return strings.Contains(text, "toolhost_fleet_running "+is+"\n"), text
		})
	}
	send := func(method, url, session, event, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		require.NoError(t, err)
		for name, value := range map[string]string{"Content-Type": "application/json", "Mcp-Session-Id": session,
			"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"} {
			r.Header.Set(name, value)
		}
		if event != "" {
			r.Header.Set("Last-Event-ID", event)
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	call := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"chatty","arguments":{},` +
		`"_meta":{"progressToken":"p"}}}`
	one, two := openSession(t, url1+"/tools"), openSession(t, url1+"/tools")
	send(http.MethodPost, url1+"/tools", two, "", call)
	var event string
	lines := bufio.NewScanner(send(http.MethodPost, url1+"/tools", one, "", call).Body)
	for event == "" && lines.Scan() {
		event, _ = strings.CutPrefix(lines.Text(), "id: ")
		if event == lines.Text() {
			event = ""
		}
	}
	running("2")
	first.kill()
	resumed := send(http.MethodGet, url2+"/tools", one, event, "")
	assert.Equal(t, http.StatusOK, resumed.StatusCode)
	running("0")
	other := session(t, url2+"/tools")
	assert.Equal(t, "x", strings.TrimSpace(text(callTool(t, other, "note", map[string]any{"text": "x"}, nil))))
	dirs, err := filepath.Glob(filepath.Join(f.home, "one", "sessions", "*", "workspace"))
	require.NoError(t, err)
	for _, dir := range dirs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	}
	data, err := io.ReadAll(io.LimitReader(resumed.Body, 1<<20))
	require.NoError(t, err)
	assert.Contains(t, string(data), `299\nend\n`)
}
