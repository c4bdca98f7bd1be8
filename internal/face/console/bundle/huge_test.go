package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Huge results are shown piece by piece: the page holds at most a piece, and reaches the end of each.
// TOOLHOST_TEST_LONG=1 has one of 100 MB.
func TestHugeResults(t *testing.T) {
	texts := 10
	if os.Getenv("TOOLHOST_TEST_LONG") == "1" {
		texts = 100
	}
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.child("./internal/store/record", "TestMakeHugeResults", "TOOLHOST_MAKE_ROOT="+u.dir, fmt.Sprint("TOOLHOST_MAKE_HUGE=", texts))
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`), frames, counted)
	before := 0.0
	open := func(name string) {
		t.Helper()
		before = worked(t, ctx)
		do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), until(`document.querySelector(".line")`),
			chromedp.Evaluate[chromedp.Void](`window.slow = 0`), openCall(name),
			until(fmt.Sprintf(`document.querySelector("h1")?.innerText.startsWith(%q) && [...document.querySelectorAll("h2")].some(h => h.innerText == "Result")`, name)))
	}
	bounded := func(name string) {
		t.Helper()
		if got := value[int](t, ctx, `document.body.textContent.length`); got > 300_000 {
			t.Errorf("%s: the page holds %d characters", name, got)
		}
		if got := value[int](t, ctx, `document.querySelectorAll("*").length`); got > 3000 {
			t.Errorf("%s: the page has %d elements", name, got)
		}
		t.Logf("%s: work of all that was opened %.0f ms, slowest frame %.0f ms, heap %.0f MB", name, worked(t, ctx)-before,
			value[float64](t, ctx, `window.slow`),
			value[float64](t, ctx, `performance.memory.usedJSHeapSize / 1e6`))
	}
	status := func(text string) chromedp.Action[chromedp.Void] {
		return until(fmt.Sprintf(`document.querySelector(".pieces .hint")?.innerText.includes(%q)`, text))
	}
	holds := func(text string) chromedp.Action[chromedp.Void] {
		return until(fmt.Sprintf(`document.querySelector(".pieces pre")?.textContent.includes(%q)`, text))
	}

	open("long")
	do(t, ctx, holds("line 0 of a long text"), status("1 to 51,200 of 15,000,0"), looks("huge"), press("Next"),
		holds("line 2500 of"), press("Last"), status("of 15,000,0"),
		until(`!document.querySelector(".pieces pre").textContent.includes("line 2500 of")`),
		until(`document.querySelector(".pieces pre").textContent.endsWith("of a long text\n")`))
	bounded("a text of 15 MB")

	open("many")
	do(t, ctx, until(fmt.Sprintf(`[...document.querySelectorAll("summary")].some(s => s.innerText.includes("content: [%d]"))`, texts)),
		clickSummary(fmt.Sprintf("%d: {2}", texts-1)), clickSummary("text: text of"), holds(fmt.Sprintf("text %d\n", texts-1)), press("Last"),
		until(`document.querySelector(".pieces pre").textContent.endsWith("xxx")`))
	bounded(fmt.Sprintf("%d texts of 1 MB", texts))

	open("wide")
	do(t, ctx, until(`[...document.querySelectorAll("summary")].some(s => s.innerText.startsWith("name 000199"))`), press("Next"),
		until(`[...document.querySelectorAll("summary")].some(s => s.innerText.startsWith("name 000399"))`), clickSummary("name 000399"),
		until(`[...document.querySelectorAll(".leaf")].some(l => l.innerText == "0: 399")`))
	bounded("an object of 200,000 names")

	for _, name := range []string{"deep", "deeper"} {
		open(name)
		do(t, ctx, until(`document.querySelector("details.tree")`), chromedp.Evaluate[chromedp.Void](
			`document.querySelectorAll("details:has(> details.tree):not([open]) > summary").forEach(s => s.click())`))
		for range 5 {
			do(t, ctx, chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("details.tree:not([open]) > summary")].at(-1)?.click()`))
		}
		if got := value[string](t, ctx,
			`[...document.querySelectorAll("details.tree > summary")].map(s => s.innerText).join(" ")`); !strings.Contains(got, "in: [1]") {
			t.Errorf("%s: the tree is %s", name, got)
		}
		bounded(name)
	}
}

func clickSummary(name string) chromedp.Action[chromedp.Void] {
	return until(fmt.Sprintf(`(s => s && (s.click(), true))(`+
		`[...document.querySelectorAll("summary")].find(s => s.innerText.startsWith(%q)))`, name))
}
