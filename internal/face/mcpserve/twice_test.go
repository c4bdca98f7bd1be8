package mcpserve_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A text and a structured part that are too long together are sent once: the part that a schema
// promises, else the text.
func TestLongResultsAreSentOnce(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	short, long := `["`+strings.Repeat("x", 5_000_000)+`"]`, `["`+strings.Repeat("x", 6_000_000)+`"]`
	h := newHost(t, host.Options{}, gives("short", short, ``), gives("free", long, ``),
		gives("promised", long, `{"type":"array"}`))
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		session := sdkClient(t, h, revision)
		call := func(name string) (string, any) {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.NoError(t, err, "%s %s", revision, name)
			require.Len(t, r.Content, 1)
			require.False(t, r.IsError)
			return r.Content[0].(*mcp.TextContent).Text, r.StructuredContent
		}
		text, structured := call("short")
		assert.True(t, text == short && structured != nil, "%s: both are there", revision)
		text, structured = call("free")
		assert.True(t, text == long && structured == nil, "%s: the text alone", revision)
		text, structured = call("promised")
		assert.True(t, strings.HasPrefix(text, "The result has 6000004 bytes.") && structured != nil,
			"%s: the structured part alone: %.200s", revision, text)
	}
}
