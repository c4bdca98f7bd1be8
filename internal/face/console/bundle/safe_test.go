package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func (u *user) waits(s *session, path string) string {
	u.t.Helper()
	s.call("write_file", map[string]any{"path": path, "content": "new\n"})
	var waiting []struct {
		ID     string
		Params struct{ Path string }
	}
	u.told(&waiting, "approve", "--json")
	for _, call := range waiting {
		if call.Params.Path == path {
			return call.ID
		}
	}
	u.t.Fatalf("no call waits for %s", path)
	return ""
}

const armed = `document.querySelector("button.go, .decide input")`

// Typing a reason for a call that is decided elsewhere decides no other call: the page stays with the
// call, and further typing is no shortcut.
func TestTypingDecidesNoOtherCall(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	s := u.connect("one")
	u.waits(s, "other.txt")
	mine := u.waits(s, "mine.txt")
	shows := func(name string) chromedp.Action[chromedp.Void] {
		return until(fmt.Sprintf(`document.querySelector("article h2")?.innerText.includes(%q)`, name))
	}
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), shows("mine.txt"), settled,
		stroke('d'), until(`document.activeElement.tagName == "INPUT"`), chromedp.KeyEvent("please use "))
	if err := u.command("approve", mine, "--deny").Run(); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, until(`document.title == "(1) toolhost"`), until(`document.querySelector(".decide [role=status]")`),
		chromedp.KeyEvent("a branch"), chromedp.KeyEvent(kb.Enter), shows("mine.txt"), picture("elsewhere"))
	if got := value[string](t, ctx, `document.querySelector(".decide input").value`); got != "please use a branch" {
		t.Errorf("the reason is %q", got)
	}
	do(t, ctx, chromedp.KeyEvent(kb.Escape), shows("other.txt"), until(`document.querySelector(".diff .plus")`))
	for range 8 { // more than a second, with less than a second between keys
		do(t, ctx, chromedp.KeyEvent("a"), chromedp.Evaluate[chromedp.Void](
			`window.settled = false; setTimeout(() => { window.settled = true; }, 200)`), until(`window.settled`))
		if value[bool](t, ctx, `!!`+armed) {
			t.Fatal("a stroke of a text has begun a decision")
		}
	}
	do(t, ctx, settled, stroke('a'), until(`document.activeElement.matches("button.go")`), chromedp.KeyEvent(" "),
		until(`!`+armed))
	do(t, ctx, chromedp.KeyEvent("branch"), chromedp.KeyEvent(kb.Enter))
	if title := value[string](t, ctx, `document.title`); title != "(1) toolhost" || u.read("other.txt") != "" {
		t.Errorf("the other call is decided: %s", title)
	}
}

// A double click begins a decision and does not confirm it; the confirming button is at another place.
func TestDoubleClickDecidesNothing(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.waits(u.connect("one"), "a.txt")
	do(t, ctx, chromedp.Navigate(u.console()))
	for _, width := range []int64{1200, 390} {
		do(t, ctx, chromedp.EmulateViewport(width, 800))
		for _, name := range []string{"Allow once", "Always", "Deny"} {
			do(t, ctx, settled, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`
				window.first = [...document.querySelectorAll(".decide button")].find(b => b.innerText.startsWith(%q));
				window.box = first.getBoundingClientRect();
				new MutationObserver((_, watch) => {
					const second = document.querySelector(".decide .go, .decide .stop");
					if (!second) return;
					watch.disconnect();
					for (const detail of [1, 2]) second.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail }));
				}).observe(document.querySelector(".decide"), { childList: true });
				first.click(); 0`, name)), until(armed), painted)
			if value[bool](t, ctx, `[...document.querySelectorAll(".decide .go, .decide .stop")].some(b => {
				const r = b.getBoundingClientRect();
				return r.left < box.right && r.right > box.left && r.top < box.bottom && r.bottom > box.top; })`) {
				t.Errorf("at %d px the second stroke of %s stands where the first stood", width, name)
			}
			do(t, ctx, picture(fmt.Sprintf("second-%d-%s", width, name)), until(armed), chromedp.KeyEvent(kb.Escape),
				until(`!`+armed))
		}
	}
	if title := value[string](t, ctx, `document.title`); title != "(1) toolhost" || u.read("a.txt") != "" {
		t.Errorf("a double click has decided the call: %s", title)
	}
}

// Opening a fresh address in another tab leaves the open tabs as they are.
func TestFreshAddressKeepsOtherTabs(t *testing.T) {
	u, first := newUser(t), browser(t)
	u.waits(u.connect("one"), "a.txt")
	c := u.command("console")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Process.Signal(os.Interrupt); _ = c.Wait() })
	shown := listen(out)
	do(t, first, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(shown.find(t, `^http://\S+`)), settled)
	fmt.Fprintln(in)
	second, stop := chromedp.NewContext(first)
	t.Cleanup(stop)
	fresh := shown.find(t, `^http://\S+\n(?s:.*?)^(http://\S+)`)
	if err := chromedp.Do(second, chromedp.Navigate(fresh)); err != nil { // the tab lives as long as this context
		t.Fatal(err)
	}
	do(t, second, until(`document.title == "(1) toolhost"`))
	do(t, first, press("Deny"), until(armed), chromedp.KeyEvent("no"), chromedp.KeyEvent(kb.Enter),
		until(`document.title == "toolhost"`))
	if value[bool](t, first, `!!document.querySelector(".problem")`) {
		t.Error("the tab that was open first fails: " + value[string](t, first, `document.body.innerText`))
	}
}

// A call's page shows what the call changed, whatever changed since, and a conflict shows all three
// versions: before the call, after it, and now.
func TestThreeVersionsOfAFile(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.write("c.txt", "one\n")
	s := u.connect("one")
	s.call("write_file", map[string]any{"path": "c.txt", "content": "two\n"})
	s.call("write_file", map[string]any{"path": "c.txt", "content": "three\n"})
	u.write("c.txt", "mine\n")
	lines := func(label string) string {
		t.Helper()
		return value[string](t, ctx, fmt.Sprintf(`[...document.querySelectorAll('[aria-label=%q] :is(.minus, .plus)')]
			.map(e => e.innerText.trim()).join(" ")`, label))
	}
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/timeline"`), openCall("write_file"),
		until(`document.body.innerText.includes("Changed since by others: c.txt")`))
	if text := value[string](t, ctx, "document.body.innerText"); !strings.Contains(text,
		"c.txt: it was changed since, and what the call left there is not kept") || strings.Contains(text, "mine") {
		t.Errorf("what the last call left was not kept, and the page shows %s", text)
	}
	versions := func() string {
		t.Helper()
		return value[string](t, ctx,
			`[...document.querySelectorAll(".three > div")].map(d => d.innerText.trim().replace(/\s+/g, " ")).join("|")`)
	}
	do(t, ctx, press("Undo"), until(`document.querySelector(".three")`))
	if got := versions(); got != "Before the call two|Now mine" {
		t.Errorf("the two versions are %q", got)
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`history.back()`), until(`!document.querySelector(".effects-of")`),
		until(`(a => a.length == 2 && (a[1].click(), true))([...document.querySelectorAll(".line a")])`),
		until(`document.querySelector(".diff .plus")`))
	if got := lines("Changes"); got != "-one +two" {
		t.Errorf("the call changed %q", got)
	}
	if text := value[string](t, ctx, "document.body.innerText"); !strings.Contains(text, "Changed since by others: c.txt") {
		t.Error(text)
	}
	do(t, ctx, press("Undo"), until(`document.querySelector(".three")`), picture("three"))
	if got := versions(); got != "Before the call one|What the call wrote two|Now mine" {
		t.Errorf("the three versions are %q", got)
	}
	do(t, ctx, press("Also replace it"), press("Undo this"), until(`document.body.innerText.includes("This was undone by")`))
	if got := u.read("c.txt"); got != "one\n" {
		t.Errorf("c.txt holds %q", got)
	}
}
