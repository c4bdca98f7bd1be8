package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// The timeline has a lane for each session, is searched by text, and is zoomed by
// dragging and by buttons.
func TestLanes(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.write("a.txt", "old\n")
	for n := range 3 {
		s := u.connect(fmt.Sprint("client", n))
		s.call("read_file", map[string]any{"path": "a.txt"})
		s.call("read_file", map[string]any{"path": fmt.Sprintf("missing-%d", n)})
	}
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
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), lines(6),
		until(`document.querySelector(".lanes canvas").getAttribute("aria-label").startsWith("6 calls of 3 sessions")`),
		looks("lanes"), set("Text", "MISSING-1"), lines(1), set("Text", "nothing has this"), lines(0), set("Text", ""),
		lines(6))
	drawn := value[int](t, ctx, `(() => { const c = document.querySelector(".lanes canvas"), d = c.getContext("2d")
		.getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i]) n++; return n; })()`)
	if drawn < 100 {
		t.Errorf("the lanes have %d points", drawn)
	}
	do(t, ctx, press("Zoom in"), until(`document.querySelectorAll(".line").length < 6`), press("All, live"), lines(6))
	// Dragging over the last tenth of the time shows what ran then.
	drag := func(kind string, part float64) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const c = document.querySelector(".lanes canvas"), r = c.getBoundingClientRect();
			c.setPointerCapture = () => {}; c.dispatchEvent(new PointerEvent(%q, { bubbles: true, pointerId: 1,
			clientX: r.left + 124 + (r.width - 128) * %f, clientY: r.top + 5 })); })()`, kind, part))
	}
	do(t, ctx, drag("pointerdown", 0.9), drag("pointermove", 0.95), drag("pointermove", 1), picture("brush"),
		drag("pointerup", 1),
		until(`document.querySelectorAll(".line").length < 6`), press("All, live"), lines(6))
}
