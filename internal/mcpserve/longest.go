package mcpserve

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/excerpt"
)

// longest is how long a result may be as JSON: clients of the official TypeScript
// SDK end a session over stdio at a message of 10 MiB.
const longest = 10<<20 - 64<<10

// once leaves out what a result that is longer has twice: its text where a schema
// promises the structured part, and else that part.
func once(r *mcp.CallToolResult, def *tool.Definition, data json.RawMessage) {
	if len(data) == 0 {
		return
	}
	size, rest := len(data), []mcp.Content(nil)
	for _, c := range r.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok {
			rest = append(rest, c)
			continue
		}
		encoded, _ := json.Marshal(text.Text)
		size += len(encoded)
	}
	switch {
	case size <= longest:
	case def != nil && len(def.Returns) > 0:
		note := fmt.Sprintf("The result has %d bytes. It is in the structured part alone: some clients take no message "+
			"of more than 10 MiB. Ask for less to see it as text.", len(data))
		r.Content = append([]mcp.Content{&mcp.TextContent{Text: note}}, rest...)
	default:
		r.StructuredContent = nil
	}
}

// mayBeLong reports whether a result could be too long, without encoding it: a
// byte is at most six as JSON.
func mayBeLong(r *tool.Result) bool {
	size := len(r.Structured)
	for _, c := range r.Contents {
		size += len(c.Text) + len(c.Data)
	}
	return size > longest/6-64<<10
}

// fit gives a result that clients over stdio take: r, r with its longest text cut,
// or an error that says what to do.
func fit(r *mcp.CallToolResult) *mcp.CallToolResult {
	size := encodedSize(r)
	if size <= longest {
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
		if kept := headOf(text.Text, encodedSize(text.Text)-(size-longest)-room); kept != "" {
			text.Text = kept + fmt.Sprintf("\n... [%d of %d bytes are left out: some clients over stdio take no message of "+
				"more than 10 MiB. Ask for a part of it.]", whole-len(kept), whole)
			return r
		}
	}
	return errorResult(tool.Errorf(tool.TooLarge, "the result has %d bytes as JSON, and some clients over stdio take no "+
		"message of more than 10 MiB", size).
		Suggest("Ask for less, such as a range or fewer files, or connect over HTTP."))
}

func encodedSize(v any) int {
	encoded, _ := json.Marshal(v)
	return len(encoded)
}

// headOf is a beginning of text that has at most limit bytes as JSON, and not
// much fewer.
func headOf(text string, limit int) string {
	for size := encodedSize(text); size > limit && text != ""; size = encodedSize(text) {
		text = excerpt.Head(text, min(len(text)-1, int(float64(len(text))*float64(max(limit, 0))/float64(size))))
	}
	return text
}
