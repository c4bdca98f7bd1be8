package attack

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// askAll asks the user about whatever changes something.
const askAll = "policy {\n  dangerous  = \"ask\"\n  safe_write = \"ask\"\n}\n"

// attack is one harmful call.
type attack struct {
	group, name  string
	tool, params string
	// want lists the codes of which the result has one; "" is success, and no
	// want at all leaves it open whether the call succeeds: harmless is enough.
	want []string
	// wantText is a part of the shown text, if it matters.
	wantText string
}

// fill inserts the arena's paths and marks into a text.
func (a *arena) fill(text string) string {
	return strings.NewReplacer(
		"{OUT}", a.out, "{WS}", a.ws, "{BASE}", a.base, "{HOME}", a.home, "{MARK}", a.mark,
		"{CANARY}", a.canary.Addr().String(), "{PORT}",
		a.canary.Addr().String()[strings.LastIndex(a.canary.Addr().String(), ":")+1:],
	).Replace(text)
}

// overMCP makes the attacks in sequence on one host, with all checks after each.
func overMCP(t *testing.T, h *host, attacks []attack) {
	t.Helper()
	for _, x := range attacks {
		oneOverMCP(t, h, x)
	}
	assert.Empty(t, h.stop(), "after the end of the host")
}

func oneOverMCP(t *testing.T, h *host, x attack) {
	t.Helper()
	_ = oneOverMCPResult(t, h, x)
}

func oneOverMCPResult(t *testing.T, h *host, x attack) (r *result) {
	t.Helper()
	t.Run(x.name, func(t *testing.T) {
		tally.note(tally.cases, x.group, x.name)
		r = h.call(x.tool, h.a.fill(x.params))
		x.judge(t, r, h.inspect(r))
		h.a.before = h.a.snapshot() // a successful attack must not fail later ones
	})
	return r
}

func onCommandLine(t *testing.T, a *arena, env []string, toolset string, x attack) *result {
	t.Helper()
	tally.note(tally.cases, x.group, x.name)
	r := a.cli(env, toolset, x.tool, a.fill(x.params))
	x.judge(t, r, append(append(r.faults, a.inspect(r.said...)...), a.ended()...))
	return r
}

func (x attack) judge(t *testing.T, r *result, found []violation) {
	t.Helper()
	for _, v := range found {
		t.Errorf("%s: %s", v.check, v.what)
	}
	if len(x.want) > 0 {
		assert.Contains(t, x.want, r.code, "the code; it said: %.300s", r.text)
	}
	if x.wantText != "" && r.code != "timeout" { // a busy machine may be too slow
		assert.Contains(t, r.text+strings.Join(r.said, "\n"), x.wantText)
	}
}

// control checks that an attack without the defence breaks the check.
func control(t *testing.T, group, name, check string, found []violation) {
	t.Helper()
	tally.note(tally.controls, group, name)
	for _, v := range found {
		if v.check == check {
			return
		}
	}
	t.Errorf("%s: with the defence off, the check %q still holds; it found %v", name, check, found)
}
