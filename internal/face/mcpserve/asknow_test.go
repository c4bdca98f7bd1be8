package mcpserve_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// An older client is asked about a connection while the call runs.
func TestAConnectionIsAskedAboutWhileTheCallRuns(t *testing.T) {
	for response, want := range map[string]string{
		`"result":{"action":"accept","content":{"decision":"once"}}`:    "once <nil>",
		`"result":{"action":"accept","content":{"decision":"session"}}`: "for the session <nil>",
		`"result":{"action":"accept","content":{"decision":"deny"}}`:    " the user refused it",
		`"result":{"action":"cancel"}`:                                  " no one was there to allow it",
		`"error":{"code":-32000,"message":"no screen"}`:                 " no one was there to allow it",
	} {
		runs := 0
		fetch := newTool("fetch", tool.SafeWrite, func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
			runs++
			approved, err := network.From(ctx).Ask("a.example:443")
			return tool.Text(fmt.Sprint(approved, " ", err)), nil
		})
		w := dial(t, newHost(t, host.Options{}, fetch))
		w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
			`"capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`)
		w.receive()
		w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{}}}`)
		question := w.receive()
		require.Equal(t, "elicitation/create", question["method"])
		assert.Contains(t, fmt.Sprint(question["params"]), "Let Fetch reach a.example:443?")
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, tool.MustMarshal(question["id"]), response))
		assert.Equal(t, want, textOf(t, w.receive()), response)
		assert.Equal(t, 1, runs)
	}
}
