package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Rules are about calls or about connections, never both.
func TestRulesAboutConnections(t *testing.T) {
	base := Rules{Rules: []Rule{{Name: "calls", Tool: "install", Action: Allow}, {Name: "all", Action: Allow}}}
	p, err := New(base)
	require.NoError(t, err)
	p, err = p.With(Reaching("", "install", "a.example:443"))
	require.NoError(t, err)
	call := Request{Tool: "install", Params: json.RawMessage(`{}`), Argv: []string{"npm", "ci"}}
	for name, c := range map[string]struct {
		change func(*Request)
		want   Action
	}{
		"the call":          {func(*Request) {}, Allow},
		"the connection":    {func(r *Request) { r.Host = "a.example:443" }, Allow},
		"another port":      {func(r *Request) { r.Host = "a.example:80" }, Ask},
		"another host":      {func(r *Request) { r.Host = "b.example:443" }, Ask},
		"another tool":      {func(r *Request) { r.Host, r.Tool = "a.example:443", "lint" }, Ask},
		"another toolset":   {func(r *Request) { r.Host, r.Toolset = "a.example:443", "x" }, Ask},
		"other parameters":  {func(r *Request) { r.Host, r.Params = "a.example:443", json.RawMessage(`{"a":1}`) }, Allow},
		"a name with wilds": {func(r *Request) { r.Host = "*" }, Ask},
	} {
		r := call
		c.change(&r)
		assert.Equal(t, c.want, p.Decide(r).Action, name)
	}
	strict, err := New(Rules{Default: Deny})
	require.NoError(t, err)
	strict, err = strict.With(Reaching("", "install", "a.example:443"))
	require.NoError(t, err)
	assert.Equal(t, Deny, strict.Decide(call).Action, "a rule about a connection allows no call")
}
