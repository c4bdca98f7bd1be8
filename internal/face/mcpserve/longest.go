package mcpserve

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// bounded are the clients that end a stdio session at a longer message, by the beginning of their name.
var bounded = []struct {
	client string
	bytes  int
}{
	{"qwen-", 10 << 20},       // Qwen Code 0.24.4: that of the TypeScript SDK since 1.30
	{"claude-code", 16 << 20}, // Claude Code 2.1.330: its own
}

// margin is for the rest of the message and the part of the next one already read.
const margin = 128 << 10

// boundOf bounds a stdio client's results; 0 means no bound.
func boundOf(client *mcp.Implementation) int {
	if client == nil {
		return 0
	}
	for _, b := range bounded {
		if strings.HasPrefix(client.Name, b.client) {
			return b.bytes - margin
		}
	}
	return 0
}

// mayExceed reports whether a result could be longer, without encoding it: a byte takes at most six in
// JSON.
func mayExceed(r *tool.Result, limit int) bool {
	size := len(r.Structured)
	for _, c := range r.Contents {
		size += len(c.Text) + len(c.Data)
	}
	return size > limit/6-margin
}

// fit returns a result of at most limit bytes of JSON: r, r with its longest text cut, or an error.
func fit(r *mcp.CallToolResult, limit int) *mcp.CallToolResult {
	size := encodedSize(r)
	if size <= limit {
		return r
	}
	var text *mcp.TextContent
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok && (text == nil || len(t.Text) > len(text.Text)) {
			text = t
		}
	}
	const room = 1 << 10 // for the note
	if text != nil {
		whole := len(text.Text)
		if kept := headOf(text.Text, encodedSize(text.Text)-(size-limit)-room); kept != "" {
			text.Text = kept +
				fmt.Sprintf("\n... [%d of %d bytes are left out: this client ends the session at a longer "+
					"message. Ask for a part of it.]", whole-len(kept), whole)
			return r
		}
	}
	return errorResult(tool.Errorf(tool.TooLarge,
		"the result has %d bytes as JSON, and this client ends the session at a message of that length", size).
		Suggest("Ask for less, such as a range or fewer files, or connect over HTTP."))
}

func encodedSize(v any) int {
	encoded, _ := json.Marshal(v)
	return len(encoded)
}

// headOf returns the beginning of text, at most limit bytes as JSON.
func headOf(text string, limit int) string {
	for size := encodedSize(text); size > limit && text != ""; size = encodedSize(text) {
		text = truncate.Head(text, min(len(text)-1, int(float64(len(text))*float64(max(limit, 0))/float64(size))))
	}
	return text
}
