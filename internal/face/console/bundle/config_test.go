package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// An approval shows what it would allow, as a change to what was approved, and is only for what was
// shown.
func TestConfig(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	hello := "tool \"hello\" {\n  description = \"Say hello\"\n  command {\n    argv = [\"echo\", \"hello\"]\n  }\n}\n"
	u.env = append(u.env, "TOOLHOST_TRUST=0")
	u.write("agent.hcl", "")
	u.openTools(ctx)
	u.write("agent.hcl", hello)
	text := func() string { return value[string](t, ctx, "document.body.innerText") }
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/config"`),
		until(`document.querySelector(".effects li")`), looks("config"))
	if got := text(); !strings.Contains(got, "not approved") || !strings.Contains(got, `tool "hello" runs echo hello`) {
		t.Error(got)
	}
	// Changed since it was shown: it is not approved, and shown again.
	u.write("agent.hcl", strings.ReplaceAll(hello, `"echo"`, `"touch"`))
	do(t, ctx, press("Approve"), press("Approve /"), until(`document.querySelector(".problem")`),
		until(`document.querySelector(".effects li")?.innerText.includes("touch")`))
	if got := text(); !strings.Contains(got, "is not what was shown") || !strings.Contains(got, "not approved") {
		t.Error(got)
	}
	u.write("agent.hcl", hello)
	do(t, ctx, chromedp.Reload(), until(`document.querySelector(".effects li")?.innerText.includes("echo")`),
		press("Approve"), press("Approve /"),
		until(`document.querySelector(".head .badge")?.innerText == "approved"`))
	u.write("agent.hcl", hello+"policy {\n  rule \"x\" {\n    tool = \"hello\"\n    action = \"ask\"\n  }\n}\n")
	do(t, ctx, chromedp.Reload(), until(`document.querySelector(".diff .plus")`), looks("config-changed"))
	if got := text(); !strings.Contains(got, `+  rule "x" {`) ||
		!strings.Contains(got, "changed since it was approved") {
		t.Error(got)
	}
	do(t, ctx, press("Approve"), press("Approve /"),
		until(`document.querySelector(".head .badge")?.innerText == "approved"`),
		chromedp.Focus(`form .bar input`), chromedp.KeyEvent("hello"), press("Explain"),
		until(`document.querySelector(".explained .text")`))
	if got := value[string](t, ctx, `document.querySelector(".explained").innerText`); !strings.Contains(got,
		`"action": "ask"`) || !strings.Contains(got, `"rule": "x"`) {
		t.Error(got)
	}
	u.write("agent.hcl", hello+"tool \"two\" {\n  nonsense = 1\n}\n")
	do(t, ctx, chromedp.Reload(), until(`document.querySelector(".source .marked .wrong")`), looks("config-wrong"))
	if got := value[string](t, ctx, `document.querySelector(".source").innerText`); !strings.Contains(got,
		"nonsense = 1") || !strings.Contains(got, "Unknown attribute") {
		t.Error(got)
	}
}

// The sources show their tools and what doctor finds.
func TestSources(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	u.write("agent.hcl", "")
	u.openTools(ctx)
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/sources"`),
		until(`document.querySelectorAll(".plain").length >= 2`), looks("sources"))
	if got := value[string](t, ctx, "document.body.innerText"); !strings.Contains(got, "builtin") ||
		!strings.Contains(got, "sandbox") {
		t.Error(got)
	}
}
