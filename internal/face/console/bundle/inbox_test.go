package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stroke presses a key that the page handles: the browser then inserts no character, wherever the focus
// is.
func stroke(key rune) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, event := range kb.Encode(key) {
			if event.Type == kb.KeyChar {
				continue
			}
			if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, *event); err != nil {
				return err
			}
		}
		return nil
	})
}

// settled waits until the page takes keys for the call it shows: no key for a second, and the call is
// drawn.
var settled = chromedp.Steps(until(`document.querySelector(".diff .plus")`), painted,
	until(`document.querySelector(".decide:not(.typing)")`))

// painted waits until the page has handled drawing.
var painted = chromedp.Steps(chromedp.Evaluate[chromedp.Void](`window.drawnAll = false;
	requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { window.drawnAll = true; }))); 0`),
	until(`window.drawnAll`))

// decided makes a call while a page is open. A call waits for less than a minute, unless the console
// says in time that somebody looks: on a busy machine it is made again if it had waited.
func (s *session) decided(tool string, args map[string]any) string {
	for until := time.Now().Add(5 * time.Minute); ; {
		began := time.Now()
		told := s.call(tool, args)
		if !strings.Contains(told, "needs approval") || time.Since(began) < time.Second || time.Now().After(until) {
			return told
		}
	}
}

// A waiting call appears, is decided by two keys, and the agent gets the outcome.
func TestDecideInTheInbox(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("a.txt", "old\nsame\n")
	u.write("b.txt", "old\n")
	s := u.connect("one")
	edit := map[string]any{"path": "a.txt", "content": "new <b>bold</b> \u202egpj.exe\nsame\n"}
	s.call("write_file", edit)
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), settled, looks("inbox"))
	text, title := value[string](t, ctx, `document.querySelector("article").innerText`), value[string](t, ctx, "document.title")
	for _, part := range []string{"new <b>bold</b> \\u202egpj.exe", "-old", "a.txt", "edits", "dangerous"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not show %q:\n%s", part, text)
		}
	}
	if strings.ContainsRune(text, '\u202e') {
		t.Error("a character that turns text around is on the page")
	}
	if place := value[string](t, ctx, "location.href"); title != "(1) toolhost" || strings.Contains(place, "code") {
		t.Errorf("title %q, address %q", title, place)
	}
	do(t, ctx, stroke('a'), until(`document.activeElement.matches("button.go")`),
		chromedp.KeyEvent(kb.Enter), until(`document.title == "toolhost"`))
	s.call("write_file", edit)
	if got := u.read("a.txt"); !strings.HasPrefix(got, "new <b>") {
		t.Errorf("a.txt holds %q", got)
	}

	// While the page is open the agent is answered in the same call.
	no := map[string]any{"path": "b.txt", "content": "x"}
	answer := make(chan string, 1)
	go func() { answer <- s.decided("write_file", no) }()
	do(t, ctx, settled, stroke('d'), until(`document.activeElement.tagName == "INPUT"`), picture("deny"),
		chromedp.KeyEvent("not today"), chromedp.KeyEvent(kb.Enter), until(`document.title == "toolhost"`),
		picture("empty"))
	if got := <-answer; !strings.Contains(got, "says: not today") || u.read("b.txt") != "old\n" {
		t.Errorf("the agent is told %s", got)
	}

	always := map[string]any{"path": "c.txt", "content": "x"}
	go func() { answer <- s.decided("write_file", always) }()
	do(t, ctx, settled, stroke('A'), until(`document.activeElement.matches("button.go")`), looks("always"),
		chromedp.KeyEvent(kb.Enter), until(`document.title == "toolhost"`))
	if got := <-answer; u.read("c.txt") != "x" {
		t.Errorf("the agent is told %s", got)
	}
	if got := s.call("write_file", always); strings.Contains(got, "isError") {
		t.Errorf("a call that is always allowed asks again: %s", got)
	}
}

// Eight sessions of three clients ask at once: each call is decided by two keys, and each client is
// answered.
func TestEightSessionsAskAtOnce(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector(".empty p")`),
		chromedp.Evaluate[chromedp.Void](`new MutationObserver(() => { window.seen = Date.now(); })
			.observe(document.querySelector("title"), { childList: true })`))
	type answer struct {
		n    int
		text string
	}
	answers := make(chan answer, 8)
	for n := range 8 {
		s := u.connect([]string{"claude-code", "cursor", "zed"}[n%3])
		go func() {
			answers <- answer{n, s.decided("write_file", map[string]any{"path": fmt.Sprintf("f%d", n), "content": "new"})}
		}()
	}
	do(t, ctx, until(`document.title == "(8) toolhost"`))
	// The last write of the state is when the eighth begins to wait.
	if waits := u.stateWritten(); waits > 0 {
		t.Logf("the last of them is seen %.0f ms after it waits", value[float64](t, ctx, `window.seen`)-waits)
	}
	for left := 8; left > 0; left-- {
		do(t, ctx, settled)
		verdict := "a"
		if strings.Contains(value[string](t, ctx, `document.querySelector("article h2").innerText`), "f3") {
			verdict = "d"
		}
		do(t, ctx, chromedp.KeyEvent(verdict), until(`document.activeElement.matches("button.go, input")`),
			chromedp.KeyEvent(kb.Enter), until(fmt.Sprintf(`!document.title.startsWith("(%d)")`, left)))
	}
	for range 8 {
		got := <-answers
		want := "new"
		if got.n == 3 {
			want = ""
		}
		if held := u.read(fmt.Sprintf("f%d", got.n)); held != want {
			t.Errorf("f%d holds %q: %s", got.n, held, got.text)
		}
		if got.n == 3 && !strings.Contains(got.text, "did not approve") {
			t.Errorf("the agent is told %s", got.text)
		}
	}
}

// stateWritten returns the last write of a workspace's state, in milliseconds, or 0.
func (u *user) stateWritten() (last float64) {
	u.t.Helper()
	_ = filepath.WalkDir(u.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Base(filepath.Dir(path)) != "approvals" || !strings.HasSuffix(path, ".json") {
			return nil
		}
		if info, err := d.Info(); err == nil {
			last = max(last, float64(info.ModTime().UnixMicro())/1000)
		}
		return nil
	})
	return last
}
