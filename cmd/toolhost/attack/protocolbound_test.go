package attack

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A protocol error does not repeat all of a request.
func TestProtocolErrorsAreBounded(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, nil)
	a.arm()
	h := a.serve(nil)
	long := strings.Repeat("t", 1<<20)
	for method, params := range map[string]string{
		"tools/call":          `{"name":"NAME","arguments":{}}`,
		"prompts/get":         `{"name":"NAME"}`,
		"resources/read":      `{"uri":"file:///NAME"}`,
		"resources/subscribe": `{"uri":"x:NAME"}`,
		"completion/complete": `{"ref":{"type":"NAME"},"argument":{"name":"x","value":"x"}}`,
		"x/NAME":              `{}`,
	} {
		tally.note(tally.cases, "mcp", "a long name in "+method)
		answer := string(h.ask(strings.ReplaceAll(method, "NAME", long), strings.ReplaceAll(params, "NAME", long)))
		assert.Contains(t, answer, `"code":-326`, "%s: %.300s", method, answer)
		assert.Less(t, len(answer), 256<<10, method)
		short := string(h.ask(strings.ReplaceAll(method, "NAME", "nothing"),
			strings.ReplaceAll(params, "NAME", "nothing")))
		assert.Contains(t, short, "nothing", "the control: what is short is named")
	}
	tally.note(tally.controls, "mcp", "a short name is repeated")
	assert.Empty(t, h.stop())
}
