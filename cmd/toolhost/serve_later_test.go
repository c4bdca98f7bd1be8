package main

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const laterOffers = `prompt "greet" {
  argument "who" { complete = ["Ada", "Bea"] }
  message { text = "Greet ${param.who}." }
}
resource "note" {
  uri   = "doc://note"
  file  = "note.txt"
  watch = true
}
`

// A client that connected before there was a prompt or resource can use the first that comes: MCP
// declares capabilities once, at a session's beginning.
func TestThePromptThatComesLaterIsOffered(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": extra("one"), "note.txt": "1"})
	s := serveCommand(t, program(t, dir, "serve"))
	m := s.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	var about struct {
		Capabilities struct {
			Prompts     struct{ ListChanged bool }
			Resources   struct{ ListChanged, Subscribe bool }
			Completions *struct{}
		}
	}
	require.NoError(t, json.Unmarshal(m.Result, &about))
	assert.True(t, about.Capabilities.Prompts.ListChanged)
	assert.True(t, about.Capabilities.Resources.ListChanged)
	assert.True(t, about.Capabilities.Resources.Subscribe)
	assert.NotNil(t, about.Capabilities.Completions)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	assert.JSONEq(t, `[]`, string(member(t, s.request("prompts/list", nil).Result, "prompts")))

	plant(t, dir, texts{"agent.hcl": extra("one") + laterOffers})
	for _, list := range []string{"prompts", "resources"} {
		s.until(list, func() bool { return s.notedLocked("notifications/"+list+"/list_changed") >= 1 })
	}
	assert.Zero(t, s.noted(listChanged), "the tools are the same")
	assert.Contains(t, string(s.request("prompts/list", nil).Result), `"greet"`)
	completed := s.request("completion/complete", map[string]any{
		"ref":      map[string]any{"type": "ref/prompt", "name": "greet"},
		"argument": map[string]any{"name": "who", "value": "B"},
	})
	assert.Contains(t, string(completed.Result), `"Bea"`)
	require.Nil(t, s.request("resources/subscribe", map[string]any{"uri": "doc://note"}).Error)
	const updated = "notifications/resources/updated"
	for n := 1; s.noted(updated) == 0 && n < 100; n++ { // the first change may precede the first look
		plant(t, dir, texts{"note.txt": strings.Repeat("more", n)})
		time.Sleep(2 * project.WatchInterval)
	}
	require.NotZero(t, s.noted(updated))
}

func member(t *testing.T, object json.RawMessage, name string) json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(object, &all))
	return all[name]
}

func TestThePromptThatComesLaterIsOfferedOverHTTP(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, texts{"agent.hcl": extra("one"), "note.txt": "1"})
			s := serveHTTP(t, dir, nil, "--http", "0", "--no-token")
			var told atomic.Int64
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { told.Add(1) },
			})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url},
				&mcp.ClientSessionOptions{ProtocolVersion: revision})
			require.NoError(t, err)
			defer session.Close()
			require.NotNil(t, session.InitializeResult().Capabilities.Prompts)
			plant(t, dir, texts{"agent.hcl": extra("one") + laterOffers})
			eventually(t, "the prompt", func() bool {
				list, err := session.ListPrompts(t.Context(), nil)
				return err == nil && len(list.Prompts) == 1
			})
			eventually(t, "the word of it", func() bool { return told.Load() >= 1 })
			r, err := session.Complete(t.Context(), &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
				Argument: mcp.CompleteParamsArgument{Name: "who", Value: "A"},
			})
			require.NoError(t, err)
			assert.Equal(t, []string{"Ada"}, r.Completion.Values)
		})
	}
}
