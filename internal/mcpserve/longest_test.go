package mcpserve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// No message over stdio has more than 10 MiB: a text is cut with a note at its
// end, and what cannot be cut is an error.
func TestNoMessageOverStdioIsTooLong(t *testing.T) {
	plain := func(name string, content tool.Content) *fake {
		return newTool(name, tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Contents: []tool.Content{content}}, nil
		})
	}
	text := func(part string, bytes int) tool.Content {
		return tool.Content{Kind: tool.KindText, Text: strings.Repeat(part, bytes/len(part))}
	}
	h := newHost(t, host.Options{Limits: host.Limits{Output: 64 << 20}}, plain("fits", text("x", 10_000_000)),
		plain("long", text("x", 11_000_000)), plain("escaped", text("\x00", 4_000_000)), plain("wide", text("ä\n", 11_000_000)),
		plain("image", tool.Content{Kind: tool.KindImage, MIMEType: "image/png", Data: make([]byte, 9<<20)}),
		gives("promised", `["`+strings.Repeat("x", 11_000_000)+`"]`, `{"type":"array"}`))
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		session := sdkClient(t, h, revision)
		for name, want := range map[string]string{"fits": "", "long": "bytes are left out", "escaped": "bytes are left out",
			"wide": "bytes are left out", "image": "Ask for less", "promised": "Ask for less"} {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.NoError(t, err, "%s %s", revision, name)
			message, err := json.Marshal(r)
			require.NoError(t, err)
			assert.Less(t, len(message), 10<<20, "%s %s", revision, name)
			assert.Equal(t, strings.HasPrefix(want, "Ask"), r.IsError, "%s %s", revision, name)
			said := fmt.Sprint(r.Content[0].(*mcp.TextContent).Text)
			assert.Contains(t, said[max(0, len(said)-300):], want, "%s %s", revision, name)
			if name == "long" {
				assert.Greater(t, len(said), 10_000_000, "as much as fits is there")
			}
		}
	}
}
