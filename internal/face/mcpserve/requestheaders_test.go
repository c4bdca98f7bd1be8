package mcpserve

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A request tells its own id, whatever the client puts into its headers.
func TestSetRequestHeaders(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`:    "7",
		`{"jsonrpc":"2.0","id":"a7","method":"tools/call"}`: "a7",
		`{"jsonrpc":"2.0","method":"notifications/x"}`:      "",
		`no JSON`: "",
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Body = heldBody{bytes.NewReader([]byte(body)), []byte(body)}
		r.Header.Set(rpcID, "forged")
		r.Header.Set(viaPipe, "")
		setRequestHeaders(r)
		assert.Equal(t, want, r.Header.Get(rpcID), body)
		assert.NotContains(t, r.Header, viaPipe)
	}
}
