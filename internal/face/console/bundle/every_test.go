package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hostile has elements, and characters that hide or reorder text or control a terminal: a page must
// show them as text.
const hostile = "<img src=x onerror=pwned=1><script>pwned=1</script>\"'`\u202egpj.exe\u200b\u2066\u00ad\ufeff\u0007\u001b[31m\U000e0041"

// inName is the part of it allowed in a file name.
var inName = strings.NewReplacer("/", "", "\"", "", "`", "", "'", "").Replace(hostile)

// harm looks for the effects of hostile text: code that ran, elements, and invisible characters.
const harm = `(() => {
	const found = [], bad = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
	if (window.pwned !== undefined) found.push("code ran");
	for (const e of document.querySelectorAll("body script ~ script, iframe, object, embed, [onerror], [onload], [src='x'], base, meta[http-equiv]")) found.push("element " + e.outerHTML);
	for (const e of document.querySelectorAll("*")) {
		for (const a of e.attributes) if (bad.test(a.value)) found.push("attribute " + a.name + " of " + e.tagName);
		if (typeof e.value === "string" && bad.test(e.value)) found.push("value of " + e.tagName);
		for (const c of e.childNodes) if (c.nodeType === 3 && bad.test(c.data)) found.push("text of " + e.tagName + "." + e.className + ": " + JSON.stringify(c.data).slice(0, 200));
	}
	if (bad.test(document.title)) found.push("title");
	return found;
})()`

// axe returns the accessibility checker's script, "" if not installed.
func axe(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(os.Getenv("TOOLHOST_NODE_PACKAGES"), "node_modules", "axe-core",
		"axe.min.js"))
	if err == nil {
		return string(data)
	}
	if os.Getenv("TOOLHOST_TEST_ALL") == "1" {
		t.Fatal("axe-core is not in TOOLHOST_NODE_PACKAGES (.ci/node-packages), and TOOLHOST_TEST_ALL=1 allows no skip")
	}
	t.Log("axe-core is not in TOOLHOST_NODE_PACKAGES (.ci/node-packages): barriers are not looked for")
	return ""
}

func barriers(t *testing.T, ctx context.Context, script string) []string {
	t.Helper()
	if script == "" {
		return nil
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`if (!window.axe) { `+script+` }; window.barriers = null; 0`),
		chromedp.Evaluate[chromedp.Void](`axe.run(document, { resultTypes: ["violations"] }).then((r) => { window.barriers = r.violations.map((v) => v.id + ": " +
			v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join("; ")); }, (e) => { window.barriers = ["axe: " + e]; }); 0`),
		until(`window.barriers`))
	return value[[]string](t, ctx, `window.barriers`)
}

// unreached returns the controls that Tab does not reach.
func unreached(t *testing.T, ctx context.Context) []string {
	t.Helper()
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur(); window.left = new Set([...document.querySelectorAll(
		"a[href], button, input, select, textarea, summary, [tabindex]")].filter((e) => e.checkVisibility() && !e.disabled)); window.tabs = left.size`))
	for range value[int](t, ctx, `window.tabs`) + 60 { // a list shows more rows on Tab
		do(t, ctx, chromedp.KeyEvent(kb.Tab),
			chromedp.Evaluate[chromedp.Void](`left.delete(document.activeElement); 0`))
		if value[int](t, ctx, `left.size`) == 0 {
			return nil
		}
	}
	return value[[]string](t, ctx, `[...left].map((e) => e.outerHTML.slice(0, 200))`)
}

// evilUser has hostile text everywhere.
func evilUser(t *testing.T) (*user, *session) {
	t.Helper()
	u := newUser(t)
	u.dir = filepath.Join(filepath.Dir(u.dir), inName)
	if err := os.Mkdir(u.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	quoted := `"` + strings.NewReplacer("\\", `\\`, `"`, `\"`, "\a", `\u0007`, "\x1b", `\u001b`).Replace(hostile) + `"`
	u.write("agent.hcl", fmt.Sprintf(`policy {
  rule %[1]s {
    tool   = "write_file"
    action = "ask"
    reason = %[1]s
  }
}
tool "evil" {
  title       = %[1]s
  description = %[1]s
  risk        = "read_only"
  param "text" {
    type        = string
    description = %[1]s
    default     = %[1]s
  }
  command {
    argv = ["printf", "%%s", param.text, %[1]s]
  }
}
`, quoted))
	u.write(inName, "old\n")
	s := u.connect(hostile)
	s.call("evil", map[string]any{"text": hostile})
	s.call("read_file", map[string]any{"path": hostile})
	s.call("edit_file", map[string]any{"path": inName, "old_str": "old", "new_str": hostile})
	s.call("write_file", map[string]any{"path": inName, "content": hostile + "\nmore " + hostile})
	return u, s
}

// On every page: hostile text is text, axe finds no barrier, Tab reaches all, and nothing is loaded
// from elsewhere.
func TestEveryPage(t *testing.T) {
	u, _ := evilUser(t)
	ctx, script := browser(t), axe(t)
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector(".question")`))
	goTo := func(hash string) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = %q`, hash))
	}
	shown := `document.querySelector("main").innerText.includes("\\u202e")`
	for _, page := range []struct {
		name string
		open chromedp.Action[chromedp.Void]
	}{
		{name: "inbox", open: until(`document.querySelector(".question")`)},
		{name: "inbox-always", open: chromedp.Steps(press("Always"), until(`document.querySelector(".rule")`))},
		{name: "timeline",
			open: chromedp.Steps(goTo("#/timeline"), until(`document.querySelectorAll(".line").length > 2`))},
		{name: "call", open: chromedp.Steps(openCall("edit_file"), until(`document.querySelector(".diff")`))},
		{name: "call-result", open: chromedp.Steps(goTo("#/timeline"), openCall("evil"),
			until(`document.querySelector("h1")?.innerText.startsWith("evil")`))},
		{name: "call-failed", open: chromedp.Steps(goTo("#/timeline"), openCall("read_file"),
			until(`document.querySelector(".problem")`))},
		{name: "changes", open: chromedp.Steps(goTo("#/changes"), until(`document.querySelector(".files .row a")`),
			until(`document.querySelector(".diff")`))},
		{name: "session", open: chromedp.Steps(goTo("#/timeline"), openCall("evil"), until(`document.querySelector("article .sub a")`),
			chromedp.Evaluate[chromedp.Void](`document.querySelector("article .sub a").click()`),
			until(`document.querySelector(".page .plain li")`))},
		{name: "tools", open: chromedp.Steps(goTo("#/tools"), until(`document.querySelectorAll(".row").length > 3`))},
		{name: "tool", open: chromedp.Steps(chromedp.Evaluate[chromedp.Void](`document.querySelector(".rows").scrollTop = 0`),
			until(`(a => a && (a.click(), true))([...document.querySelectorAll(".row a")].find(a => a.innerText == "evil"))`),
			until(`document.querySelector(".form")`))},
		{name: "sources",
			open: chromedp.Steps(goTo("#/sources"), until(`document.querySelectorAll(".plain").length >= 2`))},
		{name: "config", open: chromedp.Steps(goTo("#/config"), until(`document.querySelector(".source")`))},
		{name: "components", open: chromedp.Steps(goTo("#/components"), until(`document.querySelector(".swatches")`))},
	} {
		do(t, ctx, page.open)
		if page.name != "components" {
			do(t, ctx, until(shown))
		}
		for _, wrong := range value[[]string](t, ctx, harm) {
			t.Errorf("%s: %s", page.name, wrong)
		}
		for _, scheme := range []bool{true, false} {
			do(t, ctx, dark(scheme))
			for _, wrong := range barriers(t, ctx, script) {
				t.Errorf("%s, dark %t: %s", page.name, scheme, wrong)
			}
		}
		do(t, ctx, looks("every-"+page.name))
		for _, left := range unreached(t, ctx) {
			t.Errorf("%s: Tab does not come to %s", page.name, left)
		}
		for _, width := range []int64{390, 1200} {
			do(t, ctx, chromedp.EmulateViewport(width, 800), drawn)
			if wide := value[[]string](t, ctx, `[document.documentElement, ...document.querySelectorAll("main, .detail, .side")].filter((e) =>
				e.scrollWidth > e.clientWidth).map((e) => e.tagName + "." + e.className)`); len(wide) > 0 {
				t.Errorf("%s at %d pixels: too wide is %q", page.name, width, wide)
			}
		}
	}
	if got := value[[]string](t, ctx,
		`performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith(location.origin + "/"))`); len(got) > 0 {
		t.Errorf("loaded from elsewhere: %q", got)
	}
	// Control: harm detects these.
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector("h1").append("\u202e"); document.querySelector("h1").setAttribute("title", "\u200b"); window.pwned = 1`))
	if got := value[[]string](t, ctx, harm); len(got) != 3 {
		t.Errorf("control: %q", got)
	}
}
