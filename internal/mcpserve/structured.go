package mcpserve

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/export"
)

// Until 2025-11-25 a structured result is an object and its schema has "type":
// "object"; strict clients lose a result that is anything else, or all tools for
// one such schema. So those revisions get {"result": VALUE}, as the official
// SDKs do it. From 2026-07-28 on every value is allowed.

// anyResult reports whether a revision allows structured results of all kinds.
// One that is not known does not.
func anyResult(revision string) bool { return revision >= statelessRevision }

// outputSchema is the schema of a tool's structured results at a revision; nil
// where there is none that clients could compile.
func outputSchema(revision string, entry *host.Entry, def *tool.Definition) any {
	if compiled, err := entry.Returns(); compiled == nil || err != nil {
		return nil
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

// structured is a structured result at a revision, nil for none. def may be
// nil.
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

// agreedRevision is the revision of a list request.
func agreedRevision(request mcp.Request) string {
	if list, ok := request.(*mcp.ListToolsRequest); ok {
		return list.ProtocolVersion()
	}
	return ""
}
