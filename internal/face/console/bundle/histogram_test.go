package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Calls are found by text, also in results; filters are chips kept in the address; runs of equal calls
// are one line; dragging over the histogram selects a time.
func TestActivity(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.write("a.txt", "a needle שלום\n")
	for n := range 3 {
		s := u.connect(fmt.Sprint("client", n))
		s.call("read_file", map[string]any{"path": "a.txt"})
		s.call("read_file", map[string]any{"path": fmt.Sprintf("missing-%d", n)})
	}
	u.connect("runs").call("list_files", map[string]any{})
	set := func(label, text string) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const b = [...document.querySelectorAll(".filter label")]
			.find(l => l.innerText.startsWith(%q)).querySelector("input"); b.value = %q;
			b.dispatchEvent(new Event("change", { bubbles: true })); })()`, label, text))
	}
	lines := func(n int) chromedp.Action[chromedp.Void] {
		return until(fmt.Sprintf(`document.querySelectorAll(".line").length == %d`, n))
	}
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/activity"`), lines(7),
		until(`document.querySelector(".hist").getAttribute("aria-label").startsWith("7 calls from")`), looks("activity"),
		set("Text", "MISSING-1"), lines(1), chromedp.Reload(), lines(1), set("Text", "needle שלום"), lines(3),
		set("Text", "nothing has this"), until(`document.querySelector(".empty h1")?.innerText == "No call is like that"`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".empty a").click()`), lines(7))
	if place := value[string](t, ctx, `location.hash`); strings.Contains(place, "text") {
		t.Errorf("the address is %s", place)
	}
	s := u.connect("folds")
	for range 5 {
		s.call("list_files", map[string]any{})
	}
	do(t, ctx, until(`[...document.querySelectorAll(".line button")].some(b => b.innerText == "× 5")`), lines(8),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(".line button").click()`), lines(12),
		press("Zoom in"), until(`document.querySelectorAll(".line").length < 12`), press("All, live"), lines(8+4))
	drag := func(kind string, part float64) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const c = document.querySelector(".hist"), r = c.getBoundingClientRect();
			c.setPointerCapture = () => {}; c.dispatchEvent(new PointerEvent(%q, { bubbles: true, pointerId: 1,
			clientX: r.left + r.width * %f, clientY: r.top + 5 })); })()`, kind, part))
	}
	do(t, ctx, drag("pointerdown", 0.9), drag("pointermove", 0.95), drag("pointermove", 1), picture("brush"),
		drag("pointerup", 1), until(`document.querySelectorAll(".line").length < 12 && location.hash.includes("from=")`),
		press("All, live"), lines(12))
	// A call beside the list: j and k move in both, and the address has it.
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur(); document.querySelector(".line a").click()`),
		until(`document.querySelector("article h1")?.innerText.startsWith("list_files")`),
		until(`location.hash.includes("call=")`))
	for range 11 {
		do(t, ctx, chromedp.KeyEvent("j"))
	}
	do(t, ctx, until(`document.querySelector("article h1")?.innerText.startsWith("read_file")`))
}
