package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The timeline of many calls: CONSOLE_CALLS=1000000 measures a million.
func TestTimelineOfManyCalls(t *testing.T) {
	calls := 5000
	if n, err := strconv.Atoi(os.Getenv("CONSOLE_CALLS")); err == nil {
		calls = n
	}
	u, ctx := newUser(t), browser(t)
	fill := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout=60m", "-run=^TestMakeManyCalls$",
		"./internal/keep/record")
	fill.Dir = filepath.Join("..", "..", "..")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		fill.Env = append(fill.Env, name+"="+string(out[:len(out)-1]))
	}
	fill.Env = append(append(fill.Env, u.env...), "GOWORK=off", "TOOLHOST_MAKE_ROOT="+u.dir,
		fmt.Sprint("TOOLHOST_MAKE_CALLS=", calls))
	if out, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`window.slow = 0; { let last = performance.now(); const frame = () => { const now = performance.now();
			window.slow = Math.max(window.slow, now - last); last = now; requestAnimationFrame(frame); }; requestAnimationFrame(frame); }`))
	began := time.Now()
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`),
		until(`document.querySelectorAll(".line").length > 10`))
	t.Logf("%d calls: first lines after %s", calls, time.Since(began).Round(time.Millisecond))
	do(t, ctx, chromedp.Sleep(500*time.Millisecond), chromedp.Evaluate[chromedp.Void](`window.slow = 0`))
	for range 30 {
		do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector(".rows").scrollTop += 2000`),
			chromedp.Sleep(50*time.Millisecond))
	}
	t.Logf("slowest frame while scrolling: %.0f ms, %s", value[float64](t, ctx, `window.slow`),
		value[string](t, ctx, `document.querySelector(".filter .count").innerText`))
	began = time.Now()
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`window.slow = 0; { const b = [...document.querySelectorAll(".filter label")]
		.find(l => l.innerText.startsWith("Status")).querySelector("select"); b.value = "denied"; b.dispatchEvent(new Event("change", { bubbles: true })); }`),
		until(fmt.Sprintf(`document.querySelectorAll(".line").length >= %d && [...document.querySelectorAll(".line .status")].every(s => s.innerText == "denied")`, min(5, calls/1000))))
	t.Logf("filtered after %s, slowest frame %.0f ms", time.Since(began).Round(time.Millisecond),
		value[float64](t, ctx, `window.slow`))
}
