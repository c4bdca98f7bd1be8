package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

type described struct {
	Name       string
	Parameters struct {
		Properties map[string]struct{ Type any }
	}
	Examples []struct{ Params json.RawMessage }
}

// told runs toolhost and decodes its JSON output, even if it fails.
func (u *user) told(v any, args ...string) {
	u.t.Helper()
	c := u.command(args...)
	c.Stderr = nil
	out, _ := c.Output()
	if err := json.Unmarshal(out, v); err != nil {
		u.t.Fatalf("%q: %v: %s", args, err, out)
	}
}

// press clicks the button whose text begins with name, once it is enabled.
func press(name string) chromedp.Action[chromedp.Void] {
	quoted, _ := json.Marshal(name)
	find := `[...document.querySelectorAll("button")].find(b => b.innerText.startsWith(` + string(quoted) +
		`) && !b.disabled)`
	return until(`(b => { b?.click(); return b; })(` + find + `)`)
}

// answers makes the page count, as window.answers, the answers to Check that it has drawn; window.tried
// is the last one.
var answers = chromedp.Evaluate[chromedp.Void](`{ const ask = window.fetch; window.fetch = async (...a) => {
	const answer = await ask(...a);
	if (a[0] === "/api/try") {
		window.tried = await answer.clone().json();
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { window.answers++; })));
	}
	return answer; }; }`)

// check presses Check and waits for the answer.
var check = chromedp.Steps(chromedp.Evaluate[chromedp.Void](`window.tried = null; window.answers = 0`), press("Check"),
	until(`window.answers && document.querySelector(".detail :is(.outcome, .wrong, .problem)")`))

func typeJSON(text string) chromedp.Action[chromedp.Void] {
	quoted, _ := json.Marshal(text)
	return chromedp.Evaluate[chromedp.Void](`(() => { const b = document.querySelector("textarea.json"); b.value = ` +
		string(quoted) + `; b.dispatchEvent(new Event("input", { bubbles: true })); })()`)
}

func same(t *testing.T, what, got string, want []byte) {
	t.Helper()
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s: the form holds %s, not %s", what, got, want)
	}
}

// wrongFor gives each property a value of another type.
func wrongFor(d described) string {
	params := map[string]any{"zz_no_such": 1}
	for name, p := range d.Parameters.Properties {
		switch p.Type {
		case nil:
		case "object":
			params[name] = "text"
		default:
			params[name] = map[string]any{"wrong": true}
		}
	}
	data, _ := json.Marshal(params)
	return string(data)
}

// tryForm fills in a tool's form with each example and with invalid values: every violation that the
// host finds is at its field.
func tryForm(t *testing.T, ctx context.Context, u *user, space, toolset, name string) {
	var d described
	u.told(&d, "describe", "--json", "--toolset="+toolset, "--", name)
	query := url.Values{"space": {space}, "toolset": {toolset}, "tool": {name}}
	what := toolset + " " + name
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/tools?`+query.Encode()+`"`),
		until(`document.querySelector(".detail h2")?.innerText.split(" · ")[0] == `+fmt.Sprintf("%q", name)+
			` && document.querySelector(".detail .form")`))
	for i, example := range d.Examples {
		do(t, ctx, press(fmt.Sprintf("Example %d", i+1)), press("As JSON"),
			until(`document.querySelector("textarea.json")`))
		same(t, what, value[string](t, ctx, `document.querySelector("textarea.json").value`), example.Params)
		do(t, ctx, press("As a form"), check)
		if value[bool](t, ctx, `!document.querySelector(".outcome")`) {
			t.Errorf("%s: example %d cannot be sent: %s", what, i+1,
				value[string](t, ctx, `document.querySelector(".detail").innerText`))
		}
	}
	bad := wrongFor(d)
	var found struct {
		Error struct {
			Details struct {
				Violations []struct{ Path, Message string }
			}
		}
	}
	u.told(&found, "explain", "--json", "--toolset="+toolset, "--params="+bad, "--", name)
	do(t, ctx, press("Clear"), until(`!document.querySelector(".outcome")`), press("As JSON"), typeJSON(bad),
		press("As a form"), check)
	shown := value[[]string](t, ctx, `[...document.querySelectorAll(".form .wrong div")].map(d =>
		(d.closest("[data-path]")?.dataset.path ?? "") + ": " + d.innerText)`)
	if len(shown) != len(found.Error.Details.Violations) {
		t.Errorf("%s: %d violations are shown, %d were found: %q", what, len(shown),
			len(found.Error.Details.Violations), shown)
	}
	for _, v := range found.Error.Details.Violations {
		if !slices.ContainsFunc(shown, func(s string) bool {
			return strings.Join(strings.Fields(s), " ") == strings.Join(strings.Fields(v.Path+": "+v.Message), " ")
		}) {
			t.Errorf("%s: %v is not at its field: %q", what, v, shown)
		}
	}
}

// Every tool of the toolsets has a form: every example can be filled in and is valid, and every
// violation is at its field.
func TestFormsOfTheToolsets(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	p := u.openTools(ctx)
	for _, toolset := range []string{"agent", "cliagent", "agentbench", "clemini", "ocode", "anthropic", "claude", "codex"} {
		var all struct{ Tools []struct{ Name string } }
		u.told(&all, "list", "--json", "--toolset="+toolset)
		if len(all.Tools) < 5 {
			t.Fatal(toolset, all)
		}
		for _, tool := range all.Tools {
			tryForm(t, ctx, u, p, toolset, tool.Name)
		}
	}
}

// openTools opens the page of tools and returns the workspace's id.
func (u *user) openTools(ctx context.Context) (space string) {
	u.t.Helper()
	u.told(new(any), "call", "list_files", "--json") // creates the workspace's state
	do(u.t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/tools"`),
		until(`document.querySelectorAll("header select option").length > 1 && document.querySelector(".row a")`),
		answers)
	return value[string](u.t, ctx, `document.querySelectorAll("header select option")[1].value`)
}

// A form is filled in by keyboard, tried, saved and run; a call that needs approval waits in the inbox.
func TestFillInAndRun(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.write("a.txt", "old\n")
	space := u.openTools(ctx)
	query := url.Values{"space": {space}, "tool": {"write_file"}}
	input := func(path string) string { return `.field[data-path="` + path + `"] textarea` }
	do(t, ctx, looks("tools"), chromedp.Evaluate[chromedp.Void](`location.hash = "#/tools?`+query.Encode()+`"`),
		until(`document.querySelector('.field[data-path="content"]')`), press("Check"),
		until(`document.querySelectorAll(".form .wrong").length == 2`), looks("tool-wrong"),
		chromedp.Focus(input("path")), chromedp.KeyEvent("a.txt"), chromedp.Focus(input("content")),
		chromedp.KeyEvent("new"),
		press("Dry run"), until(`document.querySelector(".outcome .diff .plus")`), looks("tool-plan"))
	if got := u.read("a.txt"); got != "old\n" {
		t.Errorf("a dry run has written %q", got)
	}
	do(t, ctx, press("Run"), press("Run write_file now"),
		until(`document.querySelector(".outcome h3")?.innerText == "What it did"`))
	if got := u.read("a.txt"); got != "new" {
		t.Errorf("a.txt holds %q", got)
	}
	do(t, ctx, chromedp.Focus(`.bar label input`), chromedp.KeyEvent("mine"), press("Save"),
		until(`document.querySelector('[aria-label="Saved calls"]')`), chromedp.Reload(),
		press("mine"), until(`document.querySelector('`+input("content")+`').value == "new"`), press("×"),
		until(`!document.querySelector('[aria-label="Saved calls"]')`))
	if left, _ := filepath.Glob(filepath.Join(u.dir, "*calls*")); len(left) > 0 {
		t.Error("saved calls lie in the workspace", left)
	}
}
