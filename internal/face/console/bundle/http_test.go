package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// page sends requests as the console's page does.
type page struct {
	t         *testing.T
	base, key string
	cookie    *http.Cookie
	client    http.Client
}

func (u *user) open() *page {
	u.t.Helper()
	return u.openAt(u.console())
}

func (u *user) openAt(address string) *page {
	u.t.Helper()
	base, code, _ := strings.Cut(address, "/#code=")
	p := &page{t: u.t, base: base}
	p.client.Timeout = time.Minute
	r, body := p.send("POST", "/api/session", map[string]string{"code": code})
	var told struct{ Key string }
	if json.Unmarshal([]byte(body), &told) != nil || told.Key == "" || len(r.Cookies()) != 1 {
		u.t.Fatal(body)
	}
	p.key, p.cookie = told.Key, r.Cookies()[0]
	return p
}

func (p *page) request(method, path string, body any) *http.Request {
	data, _ := json.Marshal(body)
	r, err := http.NewRequest(method, p.base+path, strings.NewReader(string(data)))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors",
		"Sec-Fetch-Dest": "empty", "X-Toolhost-Key": p.key} {
		r.Header.Set(name, value)
	}
	if method == "POST" {
		r.Header.Set("Origin", p.base)
		r.Header.Set("Content-Type", "application/json")
	}
	if p.cookie != nil {
		r.AddCookie(p.cookie)
	}
	return r
}

func (p *page) send(method, path string, body any) (*http.Response, string) {
	p.t.Helper()
	r, err := p.client.Do(p.request(method, path, body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return r, string(text)
}

type line struct{ Key, Space, ID, Digest, Shown, Problem, Call string }

// inbox reads what waits now, and returns how to read on.
func (p *page) inbox() (waiting []line, more func() string, stop func()) {
	p.t.Helper()
	r, err := (&http.Client{Timeout: 5 * time.Minute}).Do(p.request("GET", "/api/inbox", nil))
	if err != nil {
		p.t.Fatal(err)
	}
	reader := bufio.NewReaderSize(r.Body, 16<<20)
	var news struct{ Add []line }
	first, err := reader.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(first, &news)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return news.Add, func() string { l, _ := reader.ReadString('\n'); return l }, func() { r.Body.Close() }
}

func (p *page) look(at line) (l line, body string) {
	p.t.Helper()
	_, body = p.send("GET", "/api/pending?space="+at.Space+"&id="+at.ID, nil)
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		p.t.Fatal(err, body)
	}
	return l, body
}

func (p *page) decide(l line, verdict string) (int, string) {
	p.t.Helper()
	r, body := p.send("POST", "/api/decide", map[string]string{"space": l.Space, "id": l.ID, "digest": l.Digest,
		"shown": l.Shown, "verdict": verdict, "reason": ""})
	return r.StatusCode, body
}

// An approval is for what was shown: if the call, or its effect, has changed, nothing is decided and
// nothing runs.
func TestApprovalOfWhatWasShown(t *testing.T) {
	u := newUser(t)
	u.write("a.txt", "old\n")
	s := u.connect("one")
	edit := map[string]any{"path": "a.txt", "content": "new\n"}
	s.call("write_file", edit)
	s.call("write_file", map[string]any{"path": "b.txt", "content": "other\n"})
	p := u.open()
	waiting, _, stop := p.inbox()
	stop()
	if len(waiting) != 2 {
		t.Fatal(waiting)
	}
	first, body := p.look(waiting[0])
	second, _ := p.look(waiting[1])
	if strings.Contains(first.Call, "b.txt") {
		first, second = second, first
	}
	forged := []line{
		{Space: first.Space, ID: first.ID, Digest: second.Digest, Shown: second.Shown}, // another call was shown
		{Space: first.Space, ID: first.ID, Digest: second.Digest, Shown: first.Shown},
		{Space: first.Space, ID: first.ID, Digest: first.Digest, Shown: second.Shown},
		{Space: first.Space, ID: first.ID, Digest: first.Digest}, // nothing was shown
		{Space: first.Space, ID: first.ID},
	}
	for _, l := range forged {
		for _, verdict := range []string{"once", "always"} {
			if status, told := p.decide(l, verdict); status != 409 {
				t.Errorf("%+v: %d %s", l, status, told)
			}
		}
	}
	u.write("a.txt", "somebody else's\n") // changes the diff
	if status, told := p.decide(first, "once"); status != 409 || !strings.Contains(told, "not what was shown") {
		t.Errorf("%d %s", status, told)
	}
	if got := s.call("write_file", edit); u.read("a.txt") != "somebody else's\n" {
		t.Errorf("it ran: %s", got)
	}
	again, body2 := p.look(first)
	if body == body2 || again.Shown == first.Shown {
		t.Error("it is shown as before")
	}
	for _, l := range []line{{Space: "none", ID: first.ID}, {Space: first.Space, ID: "none"}, {Space: "../" + first.Space, ID: first.ID},
		{Space: first.Space, ID: "../" + first.ID}, {Space: first.Space, ID: "--deny"}} {
		if status, told := p.decide(l, "deny"); status != 404 {
			t.Errorf("%+v: %d %s", l, status, told)
		}
	}
	if status, told := p.decide(again, "yes"); status != 400 {
		t.Errorf("%d %s", status, told)
	}
	// Control: what was shown is approved, and runs once.
	if status, told := p.decide(again, "once"); status != 200 {
		t.Errorf("%d %s", status, told)
	}
	if got := s.call("write_file", edit); u.read("a.txt") != "new\n" {
		t.Errorf("it did not run: %s", got)
	}
	if status, told := p.decide(again, "once"); status != 404 {
		t.Errorf("approved twice: %d %s", status, told)
	}
}

// Two consoles show the same, and what one decides disappears from the other.
func TestTwoConsoles(t *testing.T) {
	u := newUser(t)
	s := u.connect("one")
	s.call("write_file", map[string]any{"path": "a.txt", "content": "new\n"})
	one, two := u.open(), u.open()
	waiting, _, stop := one.inbox()
	defer stop()
	others, more, stopOther := two.inbox()
	defer stopOther()
	if len(waiting) != 1 || len(others) != 1 {
		t.Fatal(waiting, others)
	}
	l, _ := one.look(waiting[0])
	if status, told := one.decide(l, "deny"); status != 200 {
		t.Fatal(told)
	}
	news := more()
	for until := time.Now().Add(time.Minute); news == "{\"ready\":true}\n" && time.Now().Before(until); { // a heartbeat
		news = more()
	}
	if !strings.Contains(news, `"gone":["`+l.Key+`"]`) {
		t.Error(news)
	}
	if status, told := two.decide(l, "once"); status != 404 {
		t.Errorf("decided twice: %d %s", status, told)
	}
	if r, _ := two.send("GET", "/api/pending?space="+l.Space+"&id="+l.ID, nil); r.StatusCode != 404 {
		t.Error(r.Status)
	}
}

// Readers that do not read do not block others.
func TestReadersThatDoNotRead(t *testing.T) {
	u := newUser(t)
	s := u.connect("one")
	const calls = 8 // each reader makes the console read all of them repeatedly
	for n := range calls {
		s.call("write_file", map[string]any{"path": fmt.Sprintf("f%d", n), "content": strings.Repeat("x", 1<<15)})
	}
	p := u.open()
	for range 63 {
		r, err := (&http.Client{}).Do(p.request("GET", "/api/inbox", nil))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
	}
	began := time.Now()
	waiting, _, stop := p.inbox()
	if len(waiting) != calls || time.Since(began) > time.Minute {
		t.Errorf("%d calls after %s", len(waiting), time.Since(began))
	}
	r, body := p.send("GET", "/api/inbox", nil)
	if r.StatusCode == 200 || !strings.Contains(body, "Close some") {
		t.Errorf("one page too many: %d", r.StatusCode)
	}
	stop()
	if l, _ := p.look(waiting[0]); l.Shown == "" {
		t.Error("no call can be looked at")
	}
}
