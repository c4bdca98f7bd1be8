package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linked has tools whose results show a part of the output, and link to the whole.
const linked = `
tool "show" {
  description = "Give many letters. Returns: them."
  risk        = "read_only"
  param "letter" {}
  command { argv = ["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' \"$1\"", "sh", param.letter] }
}
tool "make" {
  description = "Give many letters. Returns: them."
  risk        = "dangerous"
  param "letter" {}
  command { argv = ["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' \"$1\"", "sh", param.letter] }
}
policy {
  dangerous = "allow"
}
`

const linkedBytes = 300_000

func linkedMessage(tool, letter string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{"letter":%q}}}`,
		tool, letter)
}

func linkIn(t *testing.T, answer string) *mcp.ResourceLink {
	t.Helper()
	var message struct {
		Result struct {
			Content []json.RawMessage
		}
	}
	data, _, _ := strings.Cut(answer[max(0, strings.Index(answer, "{")):], "\n")
	require.NoError(t, json.Unmarshal([]byte(data), &message), "%.300s", answer)
	for _, c := range message.Result.Content {
		link := new(mcp.ResourceLink)
		if json.Unmarshal(c, link) == nil && link.URI != "" {
			return link
		}
	}
	require.Fail(t, "no link", "%.500s", answer)
	return nil
}

func readMessage(uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":%q}}`, uri+"?length=1000000")
}

// move moves every session to another worker, and waits for that.
func (f *inside) move() {
	f.t.Helper()
	all, err := f.gateway.Sessions(f.t.Context())
	require.NoError(f.t, err)
	for key, before := range all {
		require.NoError(f.t, f.gateway.Steer(f.t.Context(), "move", key))
		f.waitFor(func() bool {
			all, err := f.gateway.Sessions(f.t.Context())
			return assert.NoError(f.t, err) && (all[key].Worker == "" || all[key].Epoch > before.Epoch)
		})
	}
}

// Only its session reads what a result links to, and it moves with it.
func TestFilesThatResultsLinkTo(t *testing.T) {
	t.Setenv("TENANT_A", tokenA)
	t.Setenv("TENANT_B", tokenB)
	f := newInside(t, linked, twoTenants, plain)
	_, session, _ := send(t, f.url, tokenA, "", opening(""))
	_, other, _ := send(t, f.url, tokenA, "", opening(""))
	_, foreign, _ := send(t, f.url, tokenB, "", opening(""))
	_, _, answer := send(t, f.url, tokenA, session, linkedMessage("show", "s")) // changes nothing else
	require.Less(t, len(answer), linkedBytes)
	link := linkIn(t, answer)
	require.EqualValues(t, linkedBytes, *link.Size)
	for _, when := range []string{"before", "after a move"} {
		_, _, answer := send(t, f.url, tokenA, session, readMessage(link.URI))
		assert.True(t, strings.Contains(answer, strings.Repeat("s", linkedBytes)), "%s: %.300s", when, answer)
		for token, who := range map[string]string{tokenA: other, tokenB: foreign} {
			_, _, answer = send(t, f.url, token, who, readMessage(link.URI))
			assert.True(t, strings.Contains(answer, `"error"`), "%s: %.300s", when, answer)
			assert.False(t, strings.Contains(answer, "ssssssssss"), when)
		}
		f.move()
	}
}

// After a client-named session has moved, where its calls are counted again, an old
// link does not give another output.
func TestOldLinkOfANamedSession(t *testing.T) {
	f := newInside(t, linked, "", plain)
	url := f.url + "?session=mine"
	first := linkIn(t, stateless(t, url, "tools/call", "make", `{"name":"make","arguments":{"letter":"a"}`)).URI
	f.move()
	second := linkIn(t, stateless(t, url, "tools/call", "make", `{"name":"make","arguments":{"letter":"b"}`)).URI
	assert.NotEqual(t, first, second)
	for uri, letter := range map[string]string{first: "a", second: "b"} {
		uri += "?length=1000000"
		answer := stateless(t, url, "resources/read", uri, fmt.Sprintf(`{"uri":%q`, uri))
		assert.True(t, strings.Contains(answer, strings.Repeat(letter, linkedBytes)), "%.500s", answer)
	}
}

// stateless sends a request of the revision without sessions, of a client that knows
// tasks, and returns the answer. params lack their closing brace; meta is added to
// their _meta.
func stateless(t *testing.T, url, method, name, params string, meta ...string) string {
	t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s,"_meta":{%s`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":`+
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, method, params, strings.Join(meta, ""))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	require.NoError(t, err)
	for header, value := range map[string]string{"Content-Type": "application/json", "Mcp-Method": method,
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Name": name} {
		r.Header.Set(header, value)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(data)
}
