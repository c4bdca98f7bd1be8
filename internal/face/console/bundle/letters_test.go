package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Letters of every script are shown unchanged, isolated from their surroundings; control characters are
// escaped.
func TestLettersOfEveryScript(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	s := u.connect("one")
	names := []string{"تقرير.txt", "דוח 2.txt", "報告.txt", "отчёт.txt"}
	for _, name := range names {
		s.call("write_file", map[string]any{"path": name, "content": "new\n"})
	}
	s.call("write_file", map[string]any{"path": "turned\u202etxt.exe", "content": "new\n"})
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(u.console()),
		until(`document.title == "(5) toolhost"`))
	rows := value[string](t, ctx, `[...document.querySelectorAll(".row .mono")].map((e) => e.innerText).join("\n")`)
	for _, name := range append(names, `turned\u202etxt.exe`) {
		if !strings.Contains(rows, name) {
			t.Errorf("%s is not in the list:\n%s", name, rows)
		}
	}
	bidi := value[string](t, ctx, `getComputedStyle(document.querySelector(".row .mono")).unicodeBidi`)
	if bidi != "isolate" {
		t.Errorf("a name in the list is not kept apart: %s", bidi)
	}
	for _, name := range names {
		click := "[...document.querySelectorAll('.row')].find((e) => e.innerText.includes(`" + name + "`)).click()"
		do(t, ctx, chromedp.Evaluate[chromedp.Void](click),
			until("document.querySelector('article')?.innerText.includes(`"+name+"`)"))
	}
}
