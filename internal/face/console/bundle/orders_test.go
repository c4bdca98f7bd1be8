package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// watched records each decision that the page sends, with the call shown at the user's last key or
// mouse press and the click count.
const watched = `window.sent = []; window.pressed = null;
	for (const kind of ["keydown", "mousedown"]) addEventListener(kind, e => {
		if (e.isTrusted) pressed = { shown: document.querySelector("article h2")?.innerText || "", key: e.key || "mouse", detail: e.detail };
	}, true);
	const plain = window.fetch;
	window.fetch = (path, init) => {
		if (String(path).includes("/api/decide")) sent.push({ ...pressed, id: JSON.parse(init.body).id, verdict: JSON.parse(init.body).verdict });
		return plain(path, init);
	}; 0`

// Calls wait while a user types, clicks, double-clicks, and decides elsewhere, in random orders: only
// the call on the screen at the key press is decided, and none by a double click. TOOLHOST_TEST_ORDERS
// is the number of orders, TOOLHOST_TEST_SEED the first seed.
func TestRandomOrders(t *testing.T) {
	orders, seed := 6, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("TOOLHOST_TEST_ORDERS")); err == nil {
		orders = n
	}
	if n, err := strconv.ParseUint(os.Getenv("TOOLHOST_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	u, ctx := newUser(t), browser(t)
	s := u.connect("one")
	go func() { _, _ = io.Copy(io.Discard, s.out) }() // until the server ends
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()), until(`document.querySelector(".empty p")`),
		chromedp.Evaluate[chromedp.Void](watched))
	decided := make(map[string]int)
	for n := range orders {
		o := &order{u: u, s: s, rand: rand.New(rand.NewPCG(seed+uint64(n), 1)), n: n, files: make(map[string]string)}
		o.arrive()
		o.arrive()
		do(t, ctx, until(`document.title == "(2) toolhost"`), until(`document.querySelector("article h2")`))
		for range 6 + o.rand.IntN(8) {
			do(t, ctx, o.act())
		}
		o.end()
		do(t, ctx, chromedp.KeyEvent(kb.Escape), until(`document.title == "toolhost"`))
		for _, d := range value[[]decision](t, ctx, `sent.splice(0)`) {
			decided[d.Verdict]++
			file := o.files[d.ID]
			if file == "" || !strings.Contains(d.Shown, file) || d.Detail > 1 {
				t.Fatalf("TOOLHOST_TEST_SEED=%d: the call of %s is decided (%s) by %q, pressed %d times, while the page shows %q:\n%s",
					seed+uint64(n), file, d.Verdict, d.Key, d.Detail, d.Shown, strings.Join(o.acts, "\n"))
			}
		}
	}
	t.Logf("TOOLHOST_TEST_SEED=%d: %d orders, decided in the page: %v", seed, orders, decided)
	if orders >= 100 && (decided["once"] == 0 || decided["deny"] == 0) {
		t.Error("the orders decide nothing in the page, and so show nothing")
	}
}

type decision struct {
	ID, Verdict string
	Shown, Key  string // at the key press
	Detail      int    // click count, 0 for a key
}

// order is a random sequence of acts.
type order struct {
	u     *user
	s     *session
	rand  *rand.Rand
	n     int
	files map[string]string // by the waiting call's ID
	acts  []string
}

// arrive adds a waiting call.
func (o *order) arrive() {
	o.u.t.Helper()
	file := fmt.Sprintf("f%d-%d.txt", o.n, len(o.files))
	o.s.id++
	fmt.Fprintf(o.s.in,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":%q,"content":"new"}}}`+"\n",
		o.s.id, file)
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		for _, call := range o.waiting() {
			if call.Params.Path == file {
				o.files[call.ID] = file
				return
			}
		}
	}
	o.u.t.Fatalf("no call waits for %s", file)
}

type waiting struct {
	ID     string
	Params struct{ Path string }
}

func (o *order) waiting() (calls []waiting) {
	o.u.told(&calls, "approve", "--json")
	return calls
}

// elsewhere decides a call in another process.
func (o *order) elsewhere(id string) {
	deny := o.u.command("approve", id, "--deny")
	deny.Stderr = nil
	_ = deny.Run() // it may be decided already
}

func (o *order) end() {
	for _, call := range o.waiting() {
		o.elsewhere(call.ID)
	}
}

func (o *order) act() chromedp.Action[chromedp.Void] {
	pick := func(of ...string) string { return of[o.rand.IntN(len(of))] }
	note := func(format string, args ...any) { o.acts = append(o.acts, fmt.Sprintf(format, args...)) }
	switch n := o.rand.IntN(20); {
	case n < 6:
		keys, rest := pick("a", "d", "A", "a", "d", "j", "k", "a branch", "please do not", " ", kb.Escape), o.rand.IntN(2) == 0
		note("key %q, after a rest: %t", keys, rest)
		if !rest {
			return chromedp.KeyEvent(keys)
		}
		return chromedp.Steps(chromedp.Sleep(1100*time.Millisecond), chromedp.KeyEvent(keys))
	case n < 10:
		note("Enter")
		return chromedp.KeyEvent(kb.Enter)
	case n < 12:
		note("call arrives")
		o.arrive()
		return nothing
	case n < 14:
		var ids []string
		for id := range o.files {
			ids = append(ids, id)
		}
		id := ids[o.rand.IntN(len(ids))]
		note("%s is decided elsewhere", o.files[id])
		o.elsewhere(id)
		return nothing
	case n < 17:
		wait := []time.Duration{20, 200, 600, 1100}[o.rand.IntN(4)] * time.Millisecond
		note("%s pass", wait)
		return chromedp.Sleep(wait)
	}
	clicks, button := 1+o.rand.IntN(2), pick("primary", "no", "go", "stop", "quiet", "row")
	note("%d clicks on %s", clicks, button)
	return clicked(button, clicks)
}

var nothing = chromedp.Func(func(context.Context, *chromedp.Target) error { return nil })

// clicked clicks the first button of a class, or the last row, if any.
func clicked(class string, clicks int) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		place, err := chromedp.Evaluate[[]float64](fmt.Sprintf(`(e => { const r = e?.getBoundingClientRect();
			return r ? [r.left + r.width / 2, r.top + r.height / 2] : []; })([...document.querySelectorAll(
			%q == "row" ? ".side .row" : ".decide button." + %[1]q)].at(%[1]q == "row" ? -1 : 0))`, class))(ctx, target)
		for n := 1; n <= clicks && err == nil && len(place) == 2; n++ {
			_, err = chromedp.MouseClickXY(place[0], place[1], chromedp.ClickCount(n))(ctx, target)
		}
		return err
	})
}
