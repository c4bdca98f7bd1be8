package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// shownContents is a result with all kinds of contents. The picture is 1 by 1.
var shownContents = []map[string]any{
	{"type": "text", "text": "done"},
	{"type": "image", "mimeType": "image/gif", "data": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"},
	{"type": "audio", "mimeType": "audio/wav", "data": base64.StdEncoding.EncodeToString([]byte(
		"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00"))},
	{"type": "resource_link", "name": "a site", "uri": "https://example.com/page"},
	{"type": "resource_link", "name": "a trap", "uri": "javascript:window.pwned=1"},
	{"type": "resource", "resource": map[string]any{"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "a resource"}},
}

// Pictures, sounds, links and resources of a result are shown as such, and a tool's declaration as in
// agent.hcl.
func TestContentsOfAResult(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("tools.json", `[{"name":"shows","inputSchema":{"type":"object"}}]`)
	u.servePublic()
	u.write("agent.hcl", u.read("agent.hcl")+`tool "hello" {
  description = "Says hello"
  risk        = "read_only"
  command { argv = ["echo", "hello"] }
}
`)
	space := u.openTools(ctx)
	s := u.connect("claude-code")
	s.call("hello", map[string]any{})
	if told := s.call("shows", map[string]any{}); strings.Contains(told, `"isError":true`) {
		t.Fatal(told)
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), openCall("shows"),
		until(`document.querySelector("h1")?.innerText.startsWith("shows") && document.querySelector("img, details.tree")`),
		until(`document.querySelector("img")?.naturalWidth == 1`),
		until(`document.querySelector("audio")?.src.startsWith("data:audio/wav;base64,UklGR")`),
		looks("contents"))
	for script, want := range map[string]string{
		`[...document.querySelectorAll("main a[target]")].map(a => a.href + " " + a.rel).join("|")`: "" +
			"https://example.com/page noopener noreferrer",
		`[...document.querySelectorAll("main p code")].map(c => c.innerText).join("|")`: "javascript:window.pwned=1",
		`[...document.querySelectorAll("main p.hint")].map(c => c.innerText).join("|")`: "file:///notes.txt",
	} {
		if got := value[string](t, ctx, script); got != want {
			t.Errorf("%s gives %q, not %q", script, got, want)
		}
	}
	if got := value[string](t, ctx, `document.querySelector("main").innerText`); !strings.Contains(got, "a resource") ||
		!strings.Contains(got, "Claude Code") {
		t.Error(got)
	}
	query := url.Values{"space": {space}, "tool": {"hello"}}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`history.back()`), openCall("hello"),
		clickSummary("Details"), until(`document.querySelector("main").innerText.includes("sandbox ")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/tools?`+query.Encode()+`"`), clickSummary("Definition in agent.hcl"),
		until(`document.querySelector('[aria-label="Definition"]')?.innerText.startsWith('tool "hello" {')`))
	if got := value[string](t, ctx, `document.querySelector('[aria-label="Definition"]').innerText`); strings.Contains(got, "public") ||
		!strings.HasSuffix(strings.TrimSpace(got), "}") {
		t.Error(got)
	}
}

// A call's artifacts are shown with their names, places and sizes.
func TestArtifactsOfACall(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("agent.hcl", `limits {
  output = "1KiB"
}
tool "long" {
  description = "Says much"
  risk        = "read_only"
  command { argv = ["seq", "1", "5000"] }
}
`)
	told := u.connect("one").call("long", map[string]any{})
	files, err := filepath.Glob(filepath.Join(u.dir, ".agent", "runs", "*", "*", "*stdout*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err, told)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), openCall("long"), clickSummary("Details"),
		until(`[...document.querySelectorAll("dt")].some(d => d.innerText == "Artifacts")`), looks("artifacts"))
	got := value[string](t, ctx, `[...document.querySelectorAll("dt")].find(d => d.innerText == "Artifacts").nextElementSibling.innerText`)
	name, _ := filepath.Rel(u.dir, files[0])
	if want := fmt.Sprintf("%s: %s (%s bytes)", "stdout", filepath.ToSlash(name), thousands(info.Size())); got != want {
		t.Errorf("%q is shown, not %q", got, want)
	}
}

func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// One file of several calls is undone, and all since a call; if somebody changed a file since, both
// sides are shown.
func TestUndoAFileAndSinceACall(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("agent.hcl", `tool "both" {
  description = "Writes two files"
  command { argv = ["sh", "-c", "echo new >a.txt; echo new >b.txt"] }
}
`)
	u.write("a.txt", "old a\n")
	u.write("b.txt", "old b\n")
	s := u.connect("one")
	told := s.call("both", map[string]any{})
	s.call("write_file", map[string]any{"path": "c.txt", "content": "third\n"})
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), openCall("both"),
		until(`document.querySelector("h1")?.innerText.startsWith("both")`))
	if !value[bool](t, ctx, `document.querySelector("main").innerText.includes("What it has changed")`) {
		missing(t, "what commands change is not kept here: "+told)
	}
	choose := func(label, option string) chromedp.Action[chromedp.Void] {
		return until(`(() => { const s = [...document.querySelectorAll(".bar label")]
			.find(l => l.innerText.startsWith("` + label + `"))?.querySelector("select");
			const o = s && [...s.options].find(o => o.innerText.startsWith("` + option + `")); if (!o) return false;
			s.value = o.value; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	}
	shown := func(what string) chromedp.Action[chromedp.Void] {
		return until(`!document.querySelector(".rule") && !document.querySelector(".problem") && ` + what)
	}
	do(t, ctx, choose("Files", "b.txt"), press("Undo"), until(`document.querySelector(".rule .diff")`), press("Undo this"),
		shown(`document.querySelector(".diff")`))
	if a, b := u.read("a.txt"), u.read("b.txt"); a != "new\n" || b != "old b\n" {
		t.Errorf("one file is undone: %q, %q", a, b)
	}
	do(t, ctx, choose("Files", "all"), choose("Calls", "this one and all"), press("Undo"), until(`document.querySelector(".rule .diff")`),
		looks("undo-since"), press("Undo this"), shown(`document.querySelector("main").innerText.includes("This was undone by the call")`))
	if a, b, c := u.read("a.txt"), u.read("b.txt"), u.read("c.txt"); a != "old a\n" || b != "old b\n" || c != "" {
		t.Errorf("all since is undone: %q, %q, %q", a, b, c)
	}
	s.call("write_file", map[string]any{"path": "d.txt", "content": "theirs\n"})
	u.write("d.txt", "mine\n")
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), openCall("write_file content=$'theirs"),
		until(`document.querySelector("h1")?.innerText.startsWith("write_file")`), press("Undo"),
		until(`document.querySelector('[aria-label="Now"]')`), looks("both-sides"))
	if got := value[string](t, ctx, `document.querySelector('[aria-label="Now"]').innerText`); strings.TrimSpace(got) != "mine" {
		t.Error(got)
	}
	if got := u.read("d.txt"); got != "mine\n" {
		t.Errorf("d.txt holds %q", got)
	}
}

// A call shows its processes' connections and refused ones, and its tool the hosts it may reach.
func TestConnectionsOfACall(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1", "TOOLHOST_SANDBOX=full")
	u.write("agent.hcl", `tool "fetch" {
  description = "Fetches"
  risk        = "read_only"
  network     = ["a.example:8443"]
  command { argv = ["bash", "-c", "(exec 3<>/dev/tcp/b.example/80); (exec 3<>/dev/tcp/b.example/80); echo done"] }
}
`)
	u.connect("one").call("fetch", map[string]any{})
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), openCall("fetch"),
		until(`[...document.querySelectorAll("h2")].some(h => h.innerText.startsWith("Network"))`), looks("connections"))
	got := value[string](t, ctx, `[...document.querySelectorAll("tbody tr")].map(r => r.innerText.replace(/\s+/g, " ")).join("; ")`)
	if !regexp.MustCompile(`^b\.example refused the list does not name it \(\d+ times\) 0 0 $`).MatchString(got) {
		t.Errorf("%q is shown", got)
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/tools?tool=fetch"`),
		until(`document.querySelector("article")?.innerText.includes("reaches a.example:8443")`), looks("reaches"))
}
