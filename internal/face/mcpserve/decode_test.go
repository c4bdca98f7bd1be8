package mcpserve

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/assert"
)

// A message decodes as in the SDK, in either way, but it must say something, and nothing may follow it.
func TestDecodeMessageLikeTheSDK(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,2.50,"\u00e9 \ud83d\ude00"]}}}`,
		` { "params" : { } , "method" : "ping" , "id" : "a\"b" , "jsonrpc" : "2.0" } `,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":null,"method":"m"}`,
		`{"jsonrpc":"2.0","id":9007199254740991,"method":"m","params":[1]}`,
		`{"jsonrpc":"2.0","id":{},"method":"m"}`,
		`{"jsonrpc":"2.0","id":true,"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":""}`,
		`{"jsonrpc":"2.0","id":1,"method":null}`,
		`{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":"text"}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","method":"n","id":2}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","result":{},"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","more":[{}]}`,
		`{"jsonrpc":"1.0","id":1,"method":"m"}`,
		`{"id":1,"method":"m"}`,
		`{"JSONRPC":"2.0","id":1,"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`,
		`{"jsonrpc":"2.0","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m",}`,
		`{"jsonrpc":"2.0","id":1,"method":"m"`,
		`null`, `5`, `"x"`, `{}`,
	} {
		want, wantErr := jsonrpc.DecodeMessage([]byte(line))
		got, err := decodeMessage([]byte(line))
		assert.Equal(t, wantErr == nil, err == nil, "%s: %v, the SDK: %v", line, err, wantErr)
		if wantErr == nil && err == nil {
			assert.Equal(t, want, got, line)
		}
	}
}
