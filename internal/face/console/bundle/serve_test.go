package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A server over HTTP offers the console on another address, and ends it. Neither answers the other's
// requests.
func TestServeWithConsole(t *testing.T) {
	u := newUser(t)
	c := u.command("serve", "--http", "127.0.0.1:0", "--no-token", "--console")
	c.Stderr = nil
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	base, code, ok := strings.Cut(listen(out).find(t, `^http://\S+`), "/#code=")
	if !ok {
		t.Fatal(base)
	}
	log := listen(told)
	server := strings.TrimSuffix(log.find(t, `serves MCP at (\S+)`), "/mcp")
	if text, _ := log.now(); strings.Contains(text, code) {
		t.Error("the code is in the log")
	}
	if server == "" || server == base {
		t.Fatalf("the server is at %q, the console at %q", server, base)
	}
	p := &page{t: t, base: base}
	p.client.Timeout = time.Minute
	r, body := p.send("POST", "/api/session", map[string]string{"code": code})
	var key struct{ Key string }
	if json.Unmarshal([]byte(body), &key) != nil || len(r.Cookies()) != 1 {
		t.Fatal(r.Status, body)
	}
	p.key, p.cookie = key.Key, r.Cookies()[0]
	if r, body := p.send("GET", "/api/spaces", nil); r.StatusCode != 200 {
		t.Error(r.Status, body)
	}
	if r, body := p.send("POST", "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "ping"}); r.StatusCode < http.StatusBadRequest {
		t.Errorf("the console speaks MCP: %s %s", r.Status, body)
	}
	console := p.base
	for _, path := range []string{"/", "/app.js", "/api/spaces", "/api/inbox"} {
		p.base = server
		if r, body := p.send("GET", path, nil); r.StatusCode < http.StatusBadRequest {
			t.Errorf("the server answers %s: %s %s", path, r.Status, body)
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the console ends", func() bool { return !answered(console) })
}

// The console needs a server over HTTP.
func TestConsoleOfNoServer(t *testing.T) {
	u := newUser(t)
	for _, args := range [][]string{{"serve", "--console"}, {"serve", "--console", "--http", "0", "--workers", "1"}} {
		c := u.command(args...)
		c.Stderr = nil
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "--console is for a server over HTTP") {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
}
