package mcpserve

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/export"
)

// Before 2026-07-28 a structured result is an object and its schema has "type": "object"; strict
// clients lose other results, or all tools for one such schema. Those revisions get {"result": VALUE},
// as from the official SDKs.

func anyResult(revision string) bool { return revision >= statelessRevision }

// outputSchema returns the schema of a tool's structured results at a revision; nil if clients could
// not compile it.
func outputSchema(revision string, entry *host.Entry, def *tool.Definition) any {
	if len(def.Returns) == 0 {
		return nil
	}
	if entry.Foreign() {
		if _, err := entry.Returns(); err != nil {
			return nil
		}
	}
	returns := export.ECMA(def.Returns)
	if anyResult(revision) || schema.IsObject(returns) {
		return returns
	}
	wrapped, err := schema.Wrap(returns)
	if err != nil {
		return nil
	}
	return wrapped
}

// structured returns a structured result at a revision, nil if empty. def may be nil.
func structured(revision string, def *tool.Definition, data json.RawMessage) any {
	if len(data) == 0 {
		return nil
	}
	wraps := def != nil && len(def.Returns) > 0 && !schema.IsObject(def.Returns)
	if anyResult(revision) || bytes.HasPrefix(data, []byte("{")) && !wraps {
		return data
	}
	return map[string]json.RawMessage{schema.WrapKey: data}
}

// longest bounds a result with both structure and text: clients of the official TypeScript SDK end a
// stdio session at a message of 10 MiB.
const longest = 10<<20 - 64<<10

// once removes the duplicate from a longer result: the text if a schema promises the structure, else
// the structure.
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
		note := fmt.Sprintf("The result has %d bytes. It is only in the structured part: some clients accept no message "+
			"of more than 10 MiB. Ask for less to see it as text.", len(data))
		r.Content = append([]mcp.Content{&mcp.TextContent{Text: note}}, rest...)
	default:
		r.StructuredContent = nil
	}
}
