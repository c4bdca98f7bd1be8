package host_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// A number as text is accepted if it can be nothing else, except in fixed contracts, which fail such a call.
func TestNumbersAsText(t *testing.T) {
	for _, envelope := range []bool{false, true} {
		h := newHost(t, host.Options{Toolset: host.Toolset{Envelope: envelope}}, echo("echo"))
		out := h.Session("s").Call(t.Context(),
			host.Request{Tool: "echo", Params: json.RawMessage(`{"text":"7","times":"2"}`)})
		if envelope {
			require.NotNil(t, out.Err)
			assert.Equal(t, tool.InvalidArgument, out.Err.Code)
			assert.Contains(t, out.Err.Message, "times: must be an integer, not string")
			continue
		}
		require.Nil(t, out.Err)
		assert.JSONEq(t, `{"text":"7","times":2}`, out.Result.Text())
	}
	out := newHost(t, host.Options{}, echo("echo")).Session("s").Call(t.Context(),
		host.Request{Tool: "echo", Params: json.RawMessage(`{"times":"2"}`)})
	require.NotNil(t, out.Err)
	assert.Contains(t, out.Err.Message, "text: is required")
	assert.NotContains(t, out.Err.Message, "times", "what could be read is no mistake")
}
