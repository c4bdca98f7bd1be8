package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A background task is in the timeline from start to end, in its session's lane, and links to the call
// that started it.
func TestTasksInTheTimeline(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("agent.hcl", "")
	c := u.command("serve", "--toolset", "clemini")
	s := u.connectTo(c, "one")
	told := s.call("bash", map[string]any{"command": "while [ ! -e go ]; do : '<b>'; sleep 0.05; done", "run_in_background": true})
	if strings.Contains(told, `"isError":true`) {
		t.Fatal(told)
	}
	line := `[...document.querySelectorAll(".spans li")].find(l => l.innerText.includes(" task "))`
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), clickSummary("Tasks and plugins: "),
		until(line+`?.innerText.includes("· running")`), looks("spans"),
		until(line+`?.querySelector("a")?.innerText == "bash"`))
	if found := value[[]string](t, ctx, harm); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if script := axe(t); script != "" {
		if found := barriers(t, ctx, script); len(found) > 0 {
			t.Errorf("%q", found)
		}
	}
	u.write("go", "")
	do(t, ctx, until(line+`?.innerText.includes("· completed")`),
		until(`(a => { a?.click(); return a; })(`+line+`?.querySelector("a"))`),
		until(`document.querySelector("h1")?.innerText.startsWith("bash")`))
	if got := value[string](t, ctx, `document.querySelector("main").innerText`); !strings.Contains(got, "while [ ! -e go ]") {
		t.Error(got)
	}
}
