package main

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A worker checks its sessions' files: a listening client is notified, another
// sees the change at its next request.
func TestChangedFiles(t *testing.T) {
	f := newInside(t, notes, "", plain)
	quiet := openSession(t, f.url)
	list := func() string {
		return post(t, f.url, quiet, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{}}`)
	}
	require.Contains(t, list(), `"wait"`)
	told := make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: f.url}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	f.write("agent.hcl", strings.ReplaceAll(notes, `tool "wait"`, `tool "linger"`))
	f.waitFor(func() bool { return strings.Contains(list(), `"linger"`) })
	assert.NotContains(t, list(), `"wait"`)
	f.waitFor(func() bool { return len(told) > 0 })
}
