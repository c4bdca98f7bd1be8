package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A running call appears in the timeline, is shown whole, and its changes are undone and redone.
func TestLookAtACallAndUndoIt(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.write("a.txt", "old\n")
	s := u.connect("one")
	s.call("write_file", map[string]any{"path": "a.txt", "content": "<script>alert(1)</script>\u202e\n"})
	s.call("read_file", map[string]any{"path": "none"})
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`),
		until(`document.querySelectorAll(".line").length == 2`), looks("timeline"))
	s.call("list_files", map[string]any{})
	do(t, ctx, until(`document.querySelectorAll(".line").length == 3`),
		chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".line")].find(r => r.title.startsWith("write_file")).querySelector("a").click()`),
		until(`document.querySelector(".diff .plus")`), clickSummary("As a command"), looks("call"))
	text := value[string](t, ctx, "document.body.innerText")
	for _, part := range []string{"+<script>alert(1)</script>\\u202e", "-old", "Undo", "toolhost call write_file --params"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not show %q:\n%s", part, text)
		}
	}
	if strings.ContainsRune(text, '\u202e') {
		t.Error("a character that turns text around is on the page")
	}
	do(t, ctx, press("Undo"), until(`document.querySelector(".rule .diff")`), picture("undo"))
	if u.read("a.txt") == "old\n" {
		t.Error("it is undone before anybody said so")
	}
	do(t, ctx, press("Undo this"), until(`!document.querySelector(".rule") && !document.querySelector(".problem")`))
	if got := u.read("a.txt"); got != "old\n" {
		t.Errorf("a.txt holds %q", got)
	}
	do(t, ctx, press("Redo"), until(`document.querySelector(".rule .diff")`), press("Redo this"),
		until(`!document.querySelector(".rule") && !document.querySelector(".problem")`))
	if got := u.read("a.txt"); !strings.HasPrefix(got, "<script>") {
		t.Errorf("a.txt holds %q", got)
	}
	// A later change is not overwritten.
	u.write("a.txt", "mine\n")
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/changes"`),
		until(`document.querySelectorAll(".files .row").length > 0`), until(`document.querySelector(".diff .plus")`),
		looks("changes"), press("Undo file"),
		until(`document.querySelector(".problem")`), picture("conflict"))
	if got := u.read("a.txt"); got != "mine\n" {
		t.Errorf("a.txt holds %q", got)
	}
}
