package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// child runs a test of toolhost itself for this user, one that makes what is slow
// to make otherwise.
func (u *user) child(dir, name string, env ...string) {
	u.t.Helper()
	c := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout=60m", "-parallel=25", "-run=^"+name+"$", dir)
	c.Dir = filepath.Join("..", "..", "..")
	for _, variable := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", variable).Output()
		if err != nil {
			u.t.Fatal(err)
		}
		c.Env = append(c.Env, variable+"="+strings.TrimSpace(string(out)))
	}
	c.Env = append(append(append(c.Env, u.env...), "GOWORK=off"), env...)
	began := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		u.t.Fatalf("%v: %s", err, out)
	}
	u.t.Logf("%s took %s", name, time.Since(began).Round(time.Millisecond))
}

// frames has the page keep how long its slowest frame took, in milliseconds.
var frames = chromedp.Evaluate[chromedp.Void](`window.slow = 0; { let last = performance.now(); const frame = () => { const now = performance.now();
	window.slow = Math.max(window.slow, now - last); last = now; requestAnimationFrame(frame); }; requestAnimationFrame(frame); }`)

// The timeline of many calls: CONSOLE_CALLS=1000000 measures a million.
func TestTimelineOfManyCalls(t *testing.T) {
	calls := 5000
	if n, err := strconv.Atoi(os.Getenv("CONSOLE_CALLS")); err == nil {
		calls = n
	}
	u, ctx := newUser(t), browser(t)
	u.child("./internal/keep/record", "TestMakeManyCalls", "TOOLHOST_MAKE_ROOT="+u.dir,
		fmt.Sprint("TOOLHOST_MAKE_CALLS=", calls))
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`),
		frames)
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
