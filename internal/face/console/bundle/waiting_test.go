package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Many calls wait, the most allowed in each of many workspaces: the title counts all, the page holds a
// screenful, the newest is on top, and each is decided by keyboard. TOOLHOST_TEST_LONG=1 has 10,000.
func TestInboxOfManyCalls(t *testing.T) {
	calls := 1000
	if os.Getenv("TOOLHOST_TEST_LONG") == "1" {
		calls = 10_000
	}
	u, ctx := newUser(t), browser(t)
	parent := t.TempDir()
	u.child("./internal/face/console", "TestMakeManyWaiting", "TOOLHOST_MAKE_ROOT="+parent,
		"TOOLHOST_MAKE_WAITING="+strconv.Itoa(calls))
	title := func(n int) chromedp.Action[chromedp.Void] {
		return until(fmt.Sprintf(`document.title == "(%d) toolhost"`, n))
	}
	shows := func(name string) chromedp.Action[chromedp.Void] {
		return until(fmt.Sprintf(`document.querySelector("article h2")?.innerText.includes(%q) && document.querySelector(".diff .plus")`, name))
	}
	began := time.Now()
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.querySelector(".row")`), frames, title(calls), shows("f00000.txt"), settled)
	t.Logf("%d calls: the first is shown whole after %s", calls, time.Since(began).Round(time.Millisecond))
	bounded := func() {
		t.Helper()
		if rows := value[int](t, ctx, `document.querySelectorAll(".row").length`); rows < 5 || rows > 60 {
			t.Errorf("the page has %d rows", rows)
		}
		if all := value[int](t, ctx, `document.querySelectorAll("*").length`); all > 1000 {
			t.Errorf("the page has %d elements", all)
		}
	}
	bounded()
	rows := value[[]string](t, ctx, `[...document.querySelectorAll(".row")].map(r => r.innerText)`)
	for i, row := range rows {
		if !strings.Contains(row, fmt.Sprintf("f%05d.txt", i)) {
			t.Errorf("row %d shows %s", i, row)
		}
	}
	if got := value[string](t, ctx, `document.querySelector(".badge").innerText`); strings.TrimSpace(got) != strconv.Itoa(calls) {
		t.Errorf("the pages' names say %q", got)
	}

	do(t, ctx, chromedp.Evaluate[chromedp.Void](`window.slow = 0`), stroke('a'),
		until(`document.activeElement.matches("button.go")`), chromedp.KeyEvent(kb.Enter), title(calls-1),
		shows("f00001.txt"), settled, stroke('d'), until(`document.activeElement.tagName == "INPUT"`),
		chromedp.KeyEvent("too many"), chromedp.KeyEvent(kb.Enter), title(calls-2), shows("f00002.txt"), settled)
	for range 20 {
		do(t, ctx, chromedp.KeyEvent("j"))
	}
	do(t, ctx, shows("f00022.txt"), settled, chromedp.KeyEvent("k"), shows("f00021.txt"))
	bounded()
	t.Logf("slowest frame while deciding and moving: %.0f ms", value[float64](t, ctx, `window.slow`))

	// The selected call stays, and new ones go on top. A user scrolled to the top sees them, whatever
	// is selected further down.
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector(".rows").scrollTop = 0`))
	for i, name := range []string{"newest.txt", "newer.txt"} {
		client := u.connect("one")
		go client.call("write_file", map[string]any{"path": name, "content": "new\n"})
		do(t, ctx, title(calls-1+i), shows("f00021.txt"), settled,
			until(fmt.Sprintf(`document.querySelector(".row")?.innerText.includes(%q)`, name)))
	}

	// The oldest can be reached and decided.
	oldest := fmt.Sprintf("f%05d.txt", calls-1)
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector(".rows").scrollTop = 1e9; window.slow = 0`),
		until(fmt.Sprintf(`(r => r && (r.click(), true))([...document.querySelectorAll(".row")].find(r => r.innerText.includes(%q)))`, oldest)),
		shows(oldest), settled)
	bounded()
	do(t, ctx, stroke('a'), until(`document.activeElement.matches("button.go")`), chromedp.KeyEvent(kb.Enter),
		title(calls-1))

	// The agent gets what was decided.
	first, last := filepath.Join(parent, "w000"), filepath.Join(parent, fmt.Sprintf("w%03d", (calls-1)/100))
	for _, c := range []struct{ dir, name, want string }{
		{first, "f00000.txt", "new\n"}, {first, "f00001.txt", ""}, {last, oldest, "new\n"},
	} {
		told := u.connectIn(c.dir, "one").call("write_file", map[string]any{"path": c.name, "content": "new\n"})
		got, _ := os.ReadFile(filepath.Join(c.dir, c.name))
		if string(got) != c.want || c.want == "" && !strings.Contains(told, "says: too many") {
			t.Errorf("%s holds %q: %s", c.name, got, told)
		}
	}
}
