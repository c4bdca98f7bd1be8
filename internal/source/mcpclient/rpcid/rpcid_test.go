package rpcid_test

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/mcpclient/rpcid"
)

func TestIDsStayAsTheyWereWritten(t *testing.T) {
	seen := make(map[jsonrpc.ID]string)
	for _, raw := range []string{"0", "5", "-5", "9007199254740991", "9007199254740992", "9007199254740993",
		"18446744073709551615", "-9223372036854775809", "1.5", "1.50", "5.0", "1e3", "-0", `"5"`, `"a"`, `""`, `"1.5"`} {
		message, err := rpcid.Decode([]byte(`{"jsonrpc":"2.0","id":` + raw + `,"method":"ping"}`))
		require.NoError(t, err, raw)
		request := message.(*jsonrpc.Request)
		require.True(t, request.IsCall(), raw)
		assert.Empty(t, seen[request.ID], "%s is told apart", raw)
		seen[request.ID] = raw
		assert.Equal(t, raw, string(rpcid.Raw(request.ID)))

		for _, r := range []*jsonrpc.Response{{ID: request.ID, Result: json.RawMessage(`{"a":1}`)},
			{ID: request.ID, Error: &jsonrpc.Error{Code: 1, Message: "no"}}} {
			line, err := rpcid.Encode(r)
			require.NoError(t, err, raw)
			var fields map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(line, &fields), raw)
			assert.Equal(t, raw, string(fields["id"]))
		}
		message, err = rpcid.Decode([]byte(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + raw + `,"reason":"x"}}`))
		require.NoError(t, err, raw)
		var params struct {
			RequestID any `json:"requestId"`
		}
		require.NoError(t, json.Unmarshal(message.(*jsonrpc.Request).Params, &params), raw)
		cancelled, err := jsonrpc.MakeID(params.RequestID) // as the SDK does it
		require.NoError(t, err, raw)
		assert.Equal(t, request.ID, cancelled, raw)
	}
}

func TestWhatIsNoID(t *testing.T) {
	for _, raw := range []string{"{}", "[]", "true", `"\u00005"`} {
		_, err := rpcid.Decode([]byte(`{"jsonrpc":"2.0","id":` + raw + `,"method":"ping"}`))
		assert.Error(t, err, raw)
	}
	message, err := rpcid.Decode([]byte(`{"jsonrpc":"2.0","id":1.5,"result":{}}`))
	require.NoError(t, err)
	one, err := jsonrpc.MakeID(1.0)
	require.NoError(t, err)
	assert.NotEqual(t, one, message.(*jsonrpc.Response).ID, "an answer to 1.5 is none to 1")
}
