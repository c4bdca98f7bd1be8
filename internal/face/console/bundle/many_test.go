package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// child runs a test of toolhost for this user, to make what is slow to make otherwise.
func (u *user) child(dir, name string, env ...string) {
	u.t.Helper()
	c := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout=60m", "-parallel=25", "-run=^"+name+"$", dir)
	c.Dir = filepath.Join("..", "..", "..", "..")
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

// frames measures the page's slowest frame, in milliseconds.
var frames = chromedp.Evaluate[chromedp.Void](`window.slow = window.late = window.drawn = 0;
	{ let last = performance.now(); const frame = () => { const now = performance.now();
	window.slow = Math.max(window.slow, now - last); window.drawn++; if (now - last > 50) window.late++;
	last = now; requestAnimationFrame(frame); }; requestAnimationFrame(frame); }`)

// paints measures when each page first draws, and first draws lines, in milliseconds since it was
// requested.
var paints = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.lined = 0; new MutationObserver((_, o) => { if (document.querySelector(".line")) { o.disconnect();
			requestAnimationFrame(() => setTimeout(() => { window.lined = performance.now(); })); } })
			.observe(document, { childList: true, subtree: true });`})
	return err
})

// counted counts the CPU time of a page's own thread, whatever else runs.
var counted = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, performance.Enable,
		performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	return err
})

// worked returns it, in milliseconds.
func worked(t *testing.T, ctx context.Context) (ms float64) {
	t.Helper()
	do(t, ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		got, err := cdp.Call(ctx, target, performance.GetMetrics, cdp.Empty{})
		for _, metric := range got.Metrics {
			if metric.Name == "TaskDuration" {
				ms = 1000 * metric.Value
			}
		}
		return err
	}))
	return ms
}

// costs are times of the timeline, in milliseconds: wall time, of the slowest frame, and CPU time of a
// step, which bounds its frames. late counts the frames of more than 50 ms, drawn all frames.
type costs struct{ paint, lines, scroll, scrollStep, filter, filterFrame, filterStep, late, drawn float64 }

// timeline is a page with the timeline of many calls.
type timeline struct {
	t      *testing.T
	ctx    context.Context
	calls  int
	rounds []costs
}

func newTimeline(t *testing.T, calls int) *timeline {
	u, ctx := newUser(t), browser(t)
	u.child("./internal/store/record", "TestMakeManyCalls", "TOOLHOST_MAKE_ROOT="+u.dir,
		fmt.Sprint("TOOLHOST_MAKE_CALLS=", calls))
	do(t, ctx, chromedp.EmulateViewport(1200, 800), paints, chromedp.Navigate(u.console()),
		until(`document.querySelector("nav")`), chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`),
		until(`document.querySelector(".line")`))
	return &timeline{t: t, ctx: ctx, calls: calls}
}

// median returns the median of each cost over the rounds; frames are summed.
func (l *timeline) median() (c costs) {
	for _, r := range l.rounds {
		c.late, c.drawn = c.late+r.late, c.drawn+r.drawn
	}
	for _, of := range []func(*costs) *float64{
		func(c *costs) *float64 { return &c.paint }, func(c *costs) *float64 { return &c.lines },
		func(c *costs) *float64 { return &c.scroll }, func(c *costs) *float64 { return &c.scrollStep },
		func(c *costs) *float64 { return &c.filter }, func(c *costs) *float64 { return &c.filterFrame },
		func(c *costs) *float64 { return &c.filterStep },
	} {
		slices.SortFunc(l.rounds, func(a, b costs) int { return cmp.Compare(*of(&a), *of(&b)) })
		*of(&c) = *of(&l.rounds[len(l.rounds)/2])
	}
	return c
}

func load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	return string(data)
}

func (l *timeline) round() {
	t, ctx, c := l.t, l.ctx, costs{}
	t.Helper()
	do(t, ctx, chromedp.Reload(), until(`window.lined`), frames, counted)
	c.paint = value[float64](t, ctx, `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1`)
	c.lines = value[float64](t, ctx, `window.lined`)
	do(t, ctx, chromedp.Sleep(500*time.Millisecond), chromedp.Evaluate[chromedp.Void](`window.slow = 0; window.late = 0; window.drawn = 0`))
	for range 60 {
		before := worked(t, ctx)
		do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector(".rows").scrollTop += 2000`),
			chromedp.Sleep(50*time.Millisecond))
		c.scrollStep = max(c.scrollStep, worked(t, ctx)-before)
	}
	c.scroll = value[float64](t, ctx, `window.slow`)
	if shown := value[string](t, ctx, `document.querySelector(".filter .count").innerText`); l.calls > 1000 && !strings.Contains(shown, "+") {
		t.Errorf("scrolling has come to %s of %d", shown, l.calls)
	}
	before := worked(t, ctx)
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`window.slow = 0; window.filtered = 0;
		{ const began = performance.now(), b = [...document.querySelectorAll(".filter label")]
		.find(l => l.innerText.startsWith("Status")).querySelector("select");
		b.value = "denied"; b.dispatchEvent(new Event("change", { bubbles: true }));
		const look = () => { const all = [...document.querySelectorAll(".line .status")];
			if (all.length >= `+strconv.Itoa(min(5, l.calls/1000))+` && all.every((s) => s.innerText === "denied"))
				window.filtered = performance.now() - began;
			else setTimeout(look, 5); }; look(); }`),
		until(`window.filtered`))
	c.filterStep = worked(t, ctx) - before
	c.filter, c.filterFrame = value[float64](t, ctx, `window.filtered`), value[float64](t, ctx, `window.slow`)
	c.late, c.drawn = value[float64](t, ctx, `window.late`), value[float64](t, ctx, `window.drawn`)
	l.rounds = append(l.rounds, c)
	t.Logf("%d calls, load %.4s: slowest frame of scrolling %.0f ms, of filtering %.0f ms; %.0f of %.0f frames over 50 ms",
		l.calls, load(), c.scroll, c.filterFrame, c.late, c.drawn)
}

// The timeline of many calls compared with a thousand; make bench-console measures a million.
func TestTimelineOfManyCalls(t *testing.T) {
	calls, rounds := 5000, 1
	if n, err := strconv.Atoi(os.Getenv("CONSOLE_CALLS")); err == nil {
		calls, rounds = n, 5
	}
	one, other := newTimeline(t, 1000), newTimeline(t, calls)
	for range rounds { // by turns, so that other load affects both
		one.round()
		other.round()
	}
	few, many := one.median(), other.median()
	t.Logf("%-28s %14s %14s %8s", "milliseconds", "1,000 calls", fmt.Sprint(calls, " calls"), "ratio")
	for _, line := range []struct {
		name     string
		few, all float64
	}{
		{"first paint", few.paint, many.paint}, {"first calls drawn", few.lines, many.lines},
		{"slowest frame of scrolling", few.scroll, many.scroll}, {"work of a scroll, at most", few.scrollStep, many.scrollStep},
		{"filtered by status", few.filter, many.filter},
		{"slowest frame of filtering", few.filterFrame, many.filterFrame},
		{"work of filtering", few.filterStep, many.filterStep},
		{"frames of more than 50 ms", few.late, many.late}, {"frames drawn", few.drawn, many.drawn},
	} {
		t.Logf("%-28s %14.0f %14.0f %8.2f", line.name, line.few, line.all, line.all/max(line.few, 1))
	}
}
