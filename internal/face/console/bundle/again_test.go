package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A call's page gives a rule that agent.hcl takes and that allows it, fills in the form with it, and
// marks changed words.
func TestCallAgain(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.write("a.txt", "one two three\n")
	params := map[string]any{"path": "a.txt", "content": "one ${2} %{x} \"q\" \\ \u202e\U0001f600 three\n"}
	u.connect("one").call("write_file", params)
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), until(`document.querySelector(".line a")`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".line a").click()`),
		until(`document.querySelectorAll(".diff mark").length == 2`),
		picture("words"))
	if got := value[string](t, ctx, `document.querySelector(".diff .minus mark").innerText`); got != "two" {
		t.Errorf("%q is marked", got)
	}
	do(t, ctx, press("Side by side"), until(`document.querySelectorAll(".diff td mark").length == 2`), looks("beside"))
	if got := value[string](t, ctx,
		`document.querySelector(".diff td.minus").innerText + "|" + document.querySelector(".diff td.plus").innerText`); got !=
		"-one two three|+one ${2} %{x} \"q\" \\ \\u202e\U0001f600 three" {
		t.Errorf("side by side: %q", got)
	}
	do(t, ctx, press("Side by side"), until(`!document.querySelector(".diff td")`))
	rule := value[string](t, ctx, `document.querySelector('[aria-label^="As a rule"]').textContent`)
	u.write("agent.hcl", strings.Replace(rule, "policy {", "policy {\n  dangerous = \"deny\"", 1))
	u.told(new(any), "validate", "--json")
	explain := func(content string) (d struct{ Action, Rule string }) {
		data, _ := json.Marshal(map[string]any{"path": "a.txt", "content": content})
		u.told(&d, "--trust", "explain", "--json", "--params="+string(data), "write_file")
		return d
	}
	if d := explain(params["content"].(string)); d.Action != "allow" ||
		!strings.HasPrefix(d.Rule, "always write_file") {
		t.Errorf("%+v: %s", d, rule)
	}
	if d := explain("other"); d.Action != "deny" {
		t.Errorf("control: %+v", d)
	}
	u.write("agent.hcl", "")
	do(t, ctx, press("Run again"),
		until(`document.querySelector('.field[data-path="path"] textarea')?.value == "a.txt"`), press("As JSON"))
	data, _ := json.Marshal(params)
	same(t, "the form of the call", value[string](t, ctx, `document.querySelector("textarea.json").value`), data)
}

// A diff is navigated by hunks and marks words one by one; a JSON result is a tree whose closed parts
// are not on the page.
func TestDiffAndTree(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.write("a.sql", "-- a comment\nselect a, b from t\nsame\n")
	s := u.connect("one")
	s.call("write_file", map[string]any{"path": "a.sql", "content": "++ added\nselect a2, b from t2\nsame\n"})
	s.call("list_files", map[string]any{})
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), openCall("write_file"),
		until(`document.querySelector(".diff mark")`))
	for script, want := range map[string]string{
		`[...document.querySelectorAll(".diff .minus")].map(e => e.innerText.trim()).join("|")`: "--- a comment|-select a, b from t",
		`[...document.querySelectorAll(".diff .plus")].map(e => e.innerText.trim()).join("|")`:  "+++ added|+select a2, b from t2",
		`[...document.querySelectorAll(".diff .plus mark")].map(e => e.innerText).join("|")`:    "a2|t2",
	} {
		if got := value[string](t, ctx, script); got != want {
			t.Errorf("%s gives %q, not %q", script, got, want)
		}
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`history.back()`), openCall("list_files"),
		until(`document.querySelector("details.tree")`))
	do(t, ctx,
		chromedp.Evaluate[chromedp.Void](`document.querySelector("details:has(> details.tree) > summary").click()`),
		until(`document.querySelector("details.tree").checkVisibility()`), looks("tree"))
	if got := value[string](t, ctx, `document.querySelector("details.tree").innerText`); !strings.Contains(got,
		"[2]") || !strings.Contains(got, `0: "a.sql"`) {
		t.Error(got)
	}
}

// openCall opens the newest call of a tool in the timeline.
func openCall(tool string) chromedp.Action[chromedp.Void] {
	return until(fmt.Sprintf(`(r => r && (r.querySelector("a").click(), true))(`+
		`[...document.querySelectorAll(".line")].find(r => r.title.startsWith(%q)))`, tool))
}
