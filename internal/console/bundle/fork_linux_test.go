package main

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

// serveFork connects to a server in a fork of the workspace.
func (u *user) serveFork(fork, client string) *session {
	u.t.Helper()
	return u.connectTo(u.command("serve", "--trust", "--fork", fork), client)
}

// A call that waits in a fork is shown as one of the fork, with what it would do to
// the fork's files, while the session works in it; what is decided counts in the
// fork alone. The fork's calls and changes are shown too.
func TestForkInTheConsole(t *testing.T) {
	u := newUser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("agent.hcl", u.read("agent.hcl")+`tool "put" {
  description = "Puts."
  command { argv = ["sh", "-c", "echo of the fork >a.txt"] }
}
`)
	u.write("a.txt", "of the workspace\n")
	made := func(args ...string) {
		t.Helper()
		c := u.command(args...)
		c.Stderr = nil
		if out, err := c.CombinedOutput(); strings.Contains(string(out), "there are no forks of the workspace here") {
			missing(t, string(out))
		} else if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	made("fork", "one")
	made("call", "--fork", "one", "put")
	s, plain := u.serveFork("one", "claude-code"), u.connect("zed")
	edit := map[string]any{"path": "a.txt", "content": "new\n"}
	s.call("write_file", edit)
	plain.call("write_file", edit)

	p := u.open()
	waiting, _, stop := p.inbox()
	stop()
	if len(waiting) != 2 {
		t.Fatal(waiting)
	}
	var inFork, beside line
	for _, w := range waiting {
		if w.Fork == "one" {
			inFork = w
		} else {
			beside = w
		}
	}
	l, body := p.look(inFork)
	for _, part := range []string{"-of the fork", "+new", "fork one", `"client":"claude-code 1"`} {
		if !strings.Contains(body, part) {
			t.Errorf("the call in the fork does not show %q: %s", part, body)
		}
	}
	other, body := p.look(beside)
	if !strings.Contains(body, "-of the workspace") || strings.Contains(body, "fork one") {
		t.Errorf("the call in the workspace shows %s", body)
	}
	if l.Digest == other.Digest {
		t.Error("an approval in the fork is one for the workspace")
	}
	if status, told := p.decide(l, "once"); status != 200 {
		t.Fatal(status, told)
	}
	if told := plain.call("write_file", edit); u.read("a.txt") != "of the workspace\n" {
		t.Errorf("the approval has counted in the workspace: %s", told)
	}
	if told := s.call("write_file", edit); strings.Contains(told, `"isError":true`) {
		t.Errorf("it does not count in the fork: %s", told)
	}
	if got := u.read("a.txt"); got != "of the workspace\n" {
		t.Errorf("the workspace holds %q", got)
	}

	at := url.Values{"space": {l.Space}}
	var calls struct {
		Calls []struct{ Tool, Fork, Session, ID, Status string }
	}
	if _, body := p.send("GET", "/api/calls?"+at.Encode(), nil); json.Unmarshal([]byte(body), &calls) != nil || len(calls.Calls) < 2 {
		t.Fatal(body)
	}
	for _, c := range calls.Calls {
		if c.Fork != "one" || c.Status == "success" && c.Tool == "write_file" && c.Session == "" {
			t.Errorf("%+v", c)
		}
	}
	if _, body := p.send("GET", "/api/changes?"+at.Encode(), nil); strings.Count(body, `"a.txt"`) != 2 {
		t.Error(body)
	}
	last := calls.Calls[0]
	at.Set("session", last.Session)
	at.Set("id", last.ID)
	if _, body := p.send("GET", "/api/diff?"+at.Encode(), nil); !strings.Contains(body, "-of the fork") {
		t.Errorf("while a session works in the fork: %s", body)
	}
	if _, body := p.send("GET", "/api/call?"+at.Encode(), nil); !strings.Contains(body, "toolhost call --fork one write_file") {
		t.Error(body)
	}
	undo := map[string]any{"space": l.Space, "session": last.Session, "id": last.ID, "redo": false, "conflicts": "", "shown": "",
		"path": "", "since": ""}
	if r, body := p.send("POST", "/api/undo", undo); r.StatusCode != 409 || !strings.Contains(body, "in use") {
		t.Errorf("undo in a fork that is in use: %s %s", r.Status, body)
	}
	s.end()
	var plan struct{ Shown string }
	for until := time.Now().Add(time.Minute); plan.Shown == ""; time.Sleep(50 * time.Millisecond) { // its task ends with it
		r, body := p.send("POST", "/api/undo", undo)
		if r.StatusCode == 200 && json.Unmarshal([]byte(body), &plan) == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal(r.Status, body)
		}
	}
	undo["shown"] = plan.Shown
	if r, body := p.send("POST", "/api/undo", undo); r.StatusCode != 200 {
		t.Error(r.Status, body)
	}
	if out, err := u.command("fork", "diff", "one").Output(); err != nil || !strings.Contains(string(out), "+of the fork") {
		t.Errorf("%v: %s", err, out)
	}

	// A fork that is dropped is gone here too.
	made("fork", "drop", "one")
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, body := p.send("GET", "/api/spaces", nil); !strings.Contains(body, "fork one") {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the fork is still there")
		}
	}
}
