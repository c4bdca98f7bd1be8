package main

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Several calls are decided together, each shown before, but not those that come later.
func TestDecideSeveralAtOnce(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	s := u.connect("one")
	names := []string{"a.txt", "b.txt", "c.txt"}
	write := func(name string) map[string]any { return map[string]any{"path": name, "content": "new " + name + "\n"} }
	for _, name := range names {
		u.write(name, "old\n")
		s.call("write_file", write(name))
	}
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.title == "(3) toolhost"`),
		press("Allow all 3 of this kind"), until(`document.querySelectorAll(".confirm details .diff .plus").length == 3`))
	shown := value[string](t, ctx, `document.querySelector(".confirm .rule").innerText`)
	for _, name := range names {
		if !strings.Contains(shown, "new "+name) {
			t.Errorf("%s is allowed and not shown:\n%s", name, shown)
		}
	}
	late := make(chan string, 1)
	go func() { late <- s.decided("write_file", write("late.txt")) }()
	do(t, ctx, until(`document.title == "(4) toolhost"`), press("Allow these 3"), until(`document.title == "(1) toolhost"`),
		until(`document.querySelector("article")?.innerText.includes("new late.txt") && !document.querySelector(".confirm")`),
		press("Deny"), until(`document.querySelector(".confirm input")`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".confirm .stop").click()`),
		until(`document.title == "toolhost"`))
	if told := <-late; !strings.Contains(told, "did not approve") {
		t.Errorf("the call that came later: %s", told)
	}
	for _, name := range names {
		if told := s.call("write_file", write(name)); u.read(name) != "new "+name+"\n" {
			t.Errorf("%s was allowed: %s", name, told)
		}
	}
	if exists(filepath.Join(u.dir, "late.txt")) {
		t.Error("a call ran that was denied")
	}
}

// A session's report has what the agent did, no script, no loads, and nothing that looks like a secret.
func TestReportOfASession(t *testing.T) {
	u := newUser(t)
	u.write("agent.hcl", "") // no question
	const secret, script = "ghp_0123456789abcdefghijABCDEFGHIJ012345", `<script src="https://evil.example/x.js">alert(1)</script>`
	s := u.connect("one")
	s.call("write_file", map[string]any{"path": "a.html", "content": script + "<img src=https://evil.example/i.png>\n"})
	s.call("write_file", map[string]any{"path": "b.txt", "content": "token " + secret + "\n"})
	s.call("read_file", map[string]any{"path": "b.txt"})
	out, err := u.command("events", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var first struct{ Session string }
	if err := json.NewDecoder(strings.NewReader(string(out))).Decode(&first); err != nil {
		t.Fatal(err)
	}
	p := u.open()
	var spaces []struct{ ID, Root string }
	_, body := p.send("GET", "/api/spaces", nil)
	if err := json.Unmarshal([]byte(body), &spaces); err != nil || len(spaces) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	r, body := p.send("GET", "/api/report?"+url.Values{"space": {spaces[0].ID}, "session": {first.Session}}.Encode(), nil)
	var report struct{ HTML, Name string }
	if err := json.Unmarshal([]byte(body), &report); err != nil || r.StatusCode != 200 {
		t.Fatalf("%d %v: %s", r.StatusCode, err, body)
	}
	for _, part := range []string{"a.html", "b.txt", "write_file", "read_file", "&lt;script"} {
		if !strings.Contains(report.HTML, part) {
			t.Errorf("the report does not show %q", part)
		}
	}
	for _, part := range []string{"<script", "<img", "<link", "<iframe", "@import", "url(", secret} {
		if strings.Contains(report.HTML, part) {
			t.Errorf("the report has %q", part)
		}
	}
}
