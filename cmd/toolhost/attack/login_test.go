package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// If one of a login's two tokens begins like the other, the server's texts show nothing of either, in
// whichever order they came.
func TestOverlappingTokens(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const access, rest = "token-0123456789abcdef", "-and-the-rest-of-the-one-that-renews-it"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &m)
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18",`+
				`"capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}}`, m.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, m.ID, offering(innocent, "greet"))
		case "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no account of %s"}}`, m.ID,
				access+rest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	url := server.URL + "/mcp"
	call := func(loggedIn bool) *result {
		a := newArena(t, map[string]string{"agent.hcl": fmt.Sprintf(
			"mcp \"up\" {\n  url      = %q\n  protocol = \"2025-06-18\"\n}\n", url)})
		if loggedIn {
			sum := sha256.Sum256([]byte(url + strings.Repeat("\x00", 5)))
			login, _ := json.Marshal(map[string]string{
				"server": url, "resource": url, "issuer": server.URL, "token_endpoint": server.URL + "/token",
				"client_id":    "me",
				"access_token": access, "refresh_token": access + rest, "at": "2026-01-01T00:00:00Z",
			})
			a.write(a.home, "config/toolhost/logins/"+hex.EncodeToString(sum[:16])+".json", string(login), 0o600)
		}
		a.arm()
		return onCommandLine(t, a, nil, "",
			attack{group: "secrets", name: fmt.Sprintf("tokens that overlap %v", loggedIn), tool: "greet", params: `{}`,
				want: []string{"command_failed"}, wantText: "no account of"})
	}
	r := call(true)
	assert.Contains(t, strings.Join(r.said, ""), "no account of [redacted]")
	assert.NotContains(t, strings.Join(r.said, ""), rest)
	var found []violation
	if strings.Contains(strings.Join(call(false).said, ""), rest) {
		found = append(found, violation{checkSecret, rest})
	}
	control(t, "secrets", "what a server says without a login", checkSecret, found)
}
