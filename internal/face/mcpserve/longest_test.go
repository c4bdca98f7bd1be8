package mcpserve_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// longLines serves a client of that name and measures the longest line.
func longLines(t *testing.T, h *host.Host, name, revision string) (*mcp.ClientSession, *lineMeter) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	meter := &lineMeter{to: outW}
	server := mcpserve.New(h, mcpserve.Options{Name: "toolhost", Version: "test"})
	go func() { _ = outW.CloseWithError(server.ServeStdio(context.Background(), inR, meter)) }()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close(); _ = inW.Close() })
	return session, meter
}

// lineMeter measures written lines. It must be read between answers only.
type lineMeter struct {
	to            io.Writer
	line, longest int
}

func (m *lineMeter) Write(p []byte) (int, error) {
	for part := range strings.SplitAfterSeq(string(p), "\n") {
		if m.line += len(part); m.line > m.longest {
			m.longest = m.line
		}
		if strings.HasSuffix(part, "\n") {
			m.line = 0
		}
	}
	return m.to.Write(p)
}

// A client known to end its stdio session at a long message gets none: a text is cut with a note at its
// end, and what cannot be cut is an error. Others get all.
func TestClientsThatEndAtALongMessage(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	plain := func(name string, content tool.Content) *fake {
		return newTool(name, tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Contents: []tool.Content{content}}, nil
		})
	}
	text := func(part string, bytes int) tool.Content {
		return tool.Content{Kind: tool.KindText, Text: strings.Repeat(part, bytes/len(part))}
	}
	long := text("x", 11_000_000)
	h := newHost(t, host.Options{Limits: host.Limits{Output: 64 << 20}}, plain("long", long),
		plain("escaped", text("\x00", 2_900_000)),
		plain("image", tool.Content{Kind: tool.KindImage, MIMEType: "image/png", Data: make([]byte, 9<<20)}),
		gives("promised", `["`+strings.Repeat("x", 11_000_000)+`"]`, `{"type":"array"}`))
	const cut, refused, whole = "bytes are left out", "Ask for less", ""
	tests := []struct {
		client, revision string
		limit            int
		says             map[string]string
	}{
		{"qwen-cli-mcp-client-toolhost", "2025-06-18", 10 << 20,
			map[string]string{"long": cut, "escaped": cut, "image": refused, "promised": refused}},
		{"qwen-cli-mcp-client-toolhost", "2026-07-28", 10 << 20, map[string]string{"long": cut}},
		{"claude-code", "2025-11-25", 16 << 20, map[string]string{"long": whole, "escaped": cut}},
		{"test", "2025-06-18", 0, map[string]string{"long": whole}},
	}
	for _, tt := range tests {
		session, meter := longLines(t, h, tt.client, tt.revision)
		for name, want := range tt.says {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.NoError(t, err, "%s %s", tt.client, name)
			said := r.Content[0].(*mcp.TextContent).Text
			assert.Equal(t, want == refused, r.IsError, "%s %s", tt.client, name)
			if want == whole {
				assert.True(t, said == long.Text, "%s %s", tt.client, name)
				continue
			}
			assert.Contains(t, said[max(0, len(said)-300):], want, "%s %s", tt.client, name)
			if want == cut {
				assert.Greater(t, meter.longest, tt.limit-1<<20, "as much as fits is there")
			}
		}
		if tt.limit > 0 {
			assert.Less(t, meter.longest, tt.limit, "%s", tt.client)
		}
	}
}
