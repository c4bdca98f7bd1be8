package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hubBuilt builds the fleet's program too.
var hubBuilt = sync.OnceValue(func() error {
	dir, err := programs()
	if err != nil {
		return err
	}
	return goBuild("fleet", dir+string(filepath.Separator), "./cmd/toolhost-hub")
})

// runs starts a program until the test ends, and returns what follows words in a line of its log.
func (u *user) runs(words string, args ...string) string {
	u.t.Helper()
	c := u.command(args...)
	c.Stderr = nil
	log, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = c.Process.Signal(os.Interrupt); _ = c.Wait() })
	return listen(log).find(u.t, regexp.QuoteMeta(words)+`([^\s,]*)`)
}

type mcp struct {
	t            *testing.T
	url, session string
}

func (m *mcp) send(message string) string {
	m.t.Helper()
	r, err := http.NewRequest(http.MethodPost, m.url, strings.NewReader(message))
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if m.session != "" {
		r.Header.Set("Mcp-Session-Id", m.session)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	if m.session == "" {
		m.session = answer.Header.Get("Mcp-Session-Id")
	}
	return string(data)
}

// What waits on a fleet's worker is shown and decided in the page of an operator with a key, on another
// machine.
func TestConsoleOfAFleet(t *testing.T) {
	there, here, ctx := newUser(t), newUser(t), browser(t)
	if err := hubBuilt(); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(there.home, "hub")
	key := func(role string) string { return filepath.Join(store, "keys", role+"."+role+".nk") }
	config := filepath.Join(there.dir, "agent.hcl")
	there.write("fleet.hcl", "workspace \"scratch\" {\n  empty  = true\n  config = \""+config+"\"\n}\n")
	hub := there.runs("hub is at ", "hub", "--listen", "127.0.0.1:0", "--store", store)
	client := &mcp{t: t, url: there.runs("serves MCP at ", "serve", "--http", "127.0.0.1:0", "--no-token", "--hub", hub,
		"--key", key("gateway"), "--fleet-config", filepath.Join(there.dir, "fleet.hcl"))}
	there.runs("takes sessions", "worker", "--hub", hub, "--key", key("worker"), "--dir", filepath.Join(there.home, "worker"))
	client.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`)
	client.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_file",` +
		`"arguments":{"path":"a.txt","content":"<b>new</b>\n"}}}`
	if told := client.send(call); !strings.Contains(told, "toolhost fleet approve ") {
		t.Fatal(told)
	}
	address, _ := here.started(here.command("console", "--hub", hub, "--key", key("operator")))
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(address), settled, looks("fleet"))
	text := value[string](t, ctx, `document.querySelector("main").innerText`)
	for _, part := range []string{"<b>new</b>", "a.txt", "the word of the worker worker.", "tenant default", "edits"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not show %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "Always") || strings.Contains(text, "Failed") {
		t.Error(text)
	}
	do(t, ctx, stroke('A'), settled, stroke('a'), until(`document.activeElement.matches("button.go")`),
		until(`!document.querySelector(".rule")`), chromedp.KeyEvent(kb.Enter), until(`document.title == "toolhost"`))
	if told := client.send(call); strings.Contains(told, `"isError":true`) {
		t.Error(told)
	}
	if told := client.send(call); !strings.Contains(told, "needs approval") {
		t.Errorf("it runs once: %s", told)
	}
}

// Flags for a hub are refused without one.
func TestConsoleFlagsOfAFleet(t *testing.T) {
	c := newUser(t).command("console", "--key", "x")
	c.Stderr = nil
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "unknown flag: --key") {
		t.Errorf("%v %s", err, out)
	}
}
