package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A server's output is shown live, without secrets and harmless; a restart in the page gives running
// sessions a new process, as the command does.
func TestLogsAndRestart(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("tools.json", `[{"name":"shows","inputSchema":{"type":"object"}}]`)
	u.servePublic()
	u.write("agent.hcl", strings.Replace(u.read("agent.hcl"), `"tools.json" }`,
		`"tools.json", CONSOLE_TEST_SAYS = "<script>pwned=1</script> \u202e token=ghp_0123456789abcdefghijABCDEFGHIJ012345" }`, 1))
	space := u.openTools(ctx)
	s := u.connect("one")
	if told := s.call("shows", map[string]any{}); strings.Contains(told, `"isError":true`) {
		t.Fatal(told)
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/sources?space=`+space+`"`), clickSummary("public"),
		clickSummary("Log of public"), until(`document.querySelector('[aria-label="Log of public"]')?.innerText.includes("began as ")`))
	log := func() string {
		return value[string](t, ctx, `document.querySelector('[aria-label="Log of public"]').innerText`)
	}
	first := log()
	if !strings.Contains(first, `<script>pwned=1</script> \u202e`) || strings.Contains(first, "ghp_0123") {
		t.Error(first)
	}
	if found := value[[]string](t, ctx, harm); len(found) > 0 {
		t.Errorf("%q", found)
	}
	began := strings.Count(first, "began as ")
	do(t, ctx, looks("sources-log"), press("Restart public"),
		until(`document.querySelector("main").innerText.includes("Running sessions restart it")`),
		until(fmt.Sprintf(`document.querySelector('[aria-label="Log of public"]').innerText.split("began as ").length > %d`, began+1)))
	if told := s.call("shows", map[string]any{}); strings.Contains(told, `"isError":true`) {
		t.Error(told)
	}
	began = strings.Count(log(), "began as ")
	if out, err := u.command("mcp", "restart", "public").Output(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	do(t, ctx, until(fmt.Sprintf(`document.querySelector('[aria-label="Log of public"]').innerText.split("began as ").length > %d`, began+1)))
	c := u.command("mcp", "restart", "pubic")
	c.Stderr = nil
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), `Did you mean "public"?`) {
		t.Errorf("%v %s", err, out)
	}
	if script := axe(t); script != "" {
		if found := barriers(t, ctx, script); len(found) > 0 {
			t.Errorf("%q", found)
		}
	}
}

// A login in the page is the command's: the page shows its address, its end, and why it failed.
func TestLogInFromThePage(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	u.write("agent.hcl", "mcp \"tracker\" {\n  url = \"http://127.0.0.1:1/mcp\"\n}\n")
	u.connect("one").call("list_files", map[string]any{})
	notes, stand := t.TempDir(), filepath.Join(t.TempDir(), "toolhost")
	script := `#!/bin/sh
case "$*" in
*"mcp login"*)
	echo "$*" >` + notes + `/args
	printf 'Log in at example.com for the MCP server tracker: open\n\n  https://example.com/authorize?state=first\n\n' >&2
	while [ ! -e ` + notes + `/answer ]; do sleep 0.05; done
	answer=$(cat ` + notes + `/answer)
	rm ` + notes + `/answer
	[ "$answer" = yes ] && exit 0
	printf 'error: the user said no to <script>pwned=1</script>\n  Log in again.\n' >&2
	exit 1 ;;
esac
exec ` + filepath.Join(u.bin, "toolhost") + ` "$@"
`
	program(t, stand, []byte(script))
	c := u.command()
	c.Path = filepath.Join(u.bin, "toolhost-console")
	c.Args = []string{c.Path, "--toolhost", stand}
	address, _ := u.started(c)
	do(t, ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(address), until(`document.querySelector("nav")`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "#/sources"`),
		until(`[...document.querySelectorAll("summary")].some(s => s.innerText.startsWith("tracker"))`),
		chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("details")].find(d => d.innerText.startsWith("tracker")).open = true`))
	answer := func(word string) {
		t.Helper()
		replace(t, filepath.Join(notes, "answer"), word)
	}
	link := `document.querySelector('a[href="https://example.com/authorize?state=first"][rel="noopener noreferrer"][target]')`
	do(t, ctx, press("Log in to tracker"), until(link), looks("sources-login"))
	answer("no")
	do(t, ctx, until(`[...document.querySelectorAll(".problem")]
		.some(p => p.innerText.includes("the user said no to <script>pwned=1</script>"))`))
	if got := value[string](t, ctx, `document.querySelector("main").innerText`); strings.Contains(got, "state=first") {
		t.Error(got)
	}
	do(t, ctx, press("Log in to tracker"), until(link))
	answer("yes")
	do(t, ctx, until(`document.querySelector("main").innerText.includes("Logged in.")`))
	if found := value[[]string](t, ctx, harm); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if got, err := os.ReadFile(filepath.Join(notes, "args")); err != nil ||
		string(got) != "--color never mcp login --no-browser -- tracker\n" {
		t.Errorf("%q %v", got, err)
	}
}

func say() { fmt.Fprintf(os.Stderr, "began as %d %s\n", os.Getpid(), os.Getenv("CONSOLE_TEST_SAYS")) }
