//go:build unix

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

	"github.com/toolhost/toolhost/internal/fleet/gateway"
	"github.com/toolhost/toolhost/internal/testneed"
)

// linked has tools whose results show a part of what they print, and link to the
// whole. One changes nothing, so that no pack of the workspace has its output.
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

// linkIn is the link in an answer to tools/call.
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

// move has every session go to another worker, and waits for that.
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

// What a result links to is read before and after a move, and after its worker was
// killed, by its session alone.
func TestFilesThatResultsLinkTo(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	t.Setenv("TENANT_A", tokenA)
	t.Setenv("TENANT_B", tokenB)
	f := newInside(t, linked, twoTenants)
	first := f.start1(discard, plain)
	f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
	_, session, _ := send(t, f.url, tokenA, "", opening(""))
	_, other, _ := send(t, f.url, tokenA, "", opening(""))
	_, foreign, _ := send(t, f.url, tokenB, "", opening(""))
	links := make(map[string]string)
	for _, name := range []string{"show", "make"} {
		_, _, answer := send(t, f.url, tokenA, session, linkedMessage(name, name[:1]))
		require.Less(t, len(answer), linkedBytes)
		link := linkIn(t, answer)
		require.EqualValues(t, linkedBytes, *link.Size)
		assert.NotContains(t, link.Description, "lost")
		links[name[:1]] = link.URI
	}
	check := func(when string) {
		for letter, uri := range links {
			_, _, answer := send(t, f.url, tokenA, session, readMessage(uri))
			assert.True(t, strings.Contains(answer, strings.Repeat(letter, linkedBytes)), "%s: %.300s", when, answer)
			for token, who := range map[string]string{tokenA: other, tokenB: foreign} {
				_, _, answer = send(t, f.url, token, who, readMessage(uri))
				assert.True(t, strings.Contains(answer, `"error"`), "%s: %.300s", when, answer)
				assert.False(t, strings.Contains(answer, strings.Repeat(letter, 10)), when)
			}
		}
	}
	check("before")
	f.move()
	check("after a move")
	f.start1(discard, plain)
	f.waitFor(func() bool { return len(f.gateway.Workers()) == 2 })
	_, _, answer := send(t, f.url, tokenA, session, linkedMessage("show", "k"))
	links["k"] = linkIn(t, answer).URI
	first.Kill()
	check("after it was killed")
}

// What the hub keeps of what results link to is bounded, checked when it is read, and
// goes with its session.
func TestFilesThatAreNotKept(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
	t.Setenv("TENANT_A", tokenA)
	t.Setenv("TENANT_B", tokenB)
	f := newInsideOf(t, linked, twoTenants, func(o *gateway.Options) { o.SessionResults = 1 << 20 }, plain)
	store := f.store()
	_, session, _ := send(t, f.url, tokenA, "", opening(""))
	_, other, _ := send(t, f.url, tokenA, "", opening(""))
	show := func(session, letter string) *mcp.ResourceLink {
		_, _, answer := send(t, f.url, tokenA, session, linkedMessage("show", letter))
		return linkIn(t, answer)
	}
	read := func(session, uri string) string {
		_, _, answer := send(t, f.url, tokenA, session, readMessage(uri))
		return answer
	}
	good, bad, third, others := show(session, "g"), show(session, "b"), show(session, "t"), show(other, "o")
	for _, link := range []*mcp.ResourceLink{good, bad, others} {
		assert.NotContains(t, link.Description, "may be lost")
	}
	assert.Contains(t, third.Description, "may be lost when the session moves: the session has all that the hub keeps")
	assert.True(t, strings.Contains(read(session, third.URI), strings.Repeat("t", linkedBytes)), "where it was made")
	spoil(t, store, "bbbb")
	f.move()
	for _, tt := range []struct {
		name, session string
		link          *mcp.ResourceLink
		says          string
	}{
		{"kept", session, good, strings.Repeat("g", linkedBytes)},
		{"kept, a second time", session, good, strings.Repeat("g", linkedBytes)},
		{"changed", session, bad, "was changed"},
		{"there was no room", session, third, "the hub keeps none of that name"},
		{"another session's", other, others, strings.Repeat("o", linkedBytes)},
	} {
		assert.True(t, strings.Contains(read(tt.session, tt.link.URI), tt.says), "%s: %.500s", tt.name,
			read(tt.session, tt.link.URI))
	}
	require.Len(t, parts(t, store), 3)
	f.end(tokenA, session)
	f.waitFor(func() bool { return len(parts(t, store)) == 1 })
	assert.True(t, strings.Contains(read(other, others.URI), strings.Repeat("o", linkedBytes)))
}

// A session that clients name does not give another output under an old link after it
// has moved, where its calls are counted anew.
func TestOldLinkOfANamedSession(t *testing.T) {
	testneed.NotShort(t, "takes long, and others show that a fleet works")
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
// tasks, and gives the answer. The parameters are without their end; what they say of
// themselves besides is meta.
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
