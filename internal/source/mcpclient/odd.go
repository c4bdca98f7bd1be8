package mcpclient

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// entryKinds are the lists in results, and whether the SDK and this package can read an entry.
var entryKinds = map[string]func(json.RawMessage) bool{
	"tools": func(raw json.RawMessage) bool { return reads[mcp.Tool](raw) && reads[upstreamTool](raw) },
	"content": func(raw json.RawMessage) bool {
		return reads[mcp.CallToolResult](tool.MustMarshal(map[string]any{"content": []json.RawMessage{raw}}))
	},
	"messages":          reads[mcp.PromptMessage],
	"contents":          reads[mcp.ResourceContents],
	"resources":         reads[mcp.Resource],
	"resourceTemplates": reads[mcp.ResourceTemplate],
	"prompts":           reads[mcp.Prompt],
}

func reads[T any](raw json.RawMessage) bool {
	into := new(T)
	return string(raw) != "null" && json.Unmarshal(raw, into) == nil
}

// withoutOdd removes unreadable entries from a result's lists, for one of which the SDK would drop the whole
// result, and counts them. A content part becomes its text.
func withoutOdd(result json.RawMessage) (json.RawMessage, int) {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return result, 0
	}
	odd := 0
	for name, usable := range entryKinds {
		var entries, kept []json.RawMessage
		if json.Unmarshal(members[name], &entries) != nil {
			continue
		}
		for _, entry := range entries {
			switch {
			case usable(entry):
				kept = append(kept, entry)
				continue
			case name == "content":
				kept = append(kept, tool.MustMarshal(map[string]string{"type": "text", "text": string(entry)}))
			}
			odd++
		}
		if len(kept) == 0 {
			kept = []json.RawMessage{}
		}
		members[name] = tool.MustMarshal(kept)
	}
	if odd == 0 {
		return result, 0
	}
	return tool.MustMarshal(members), odd
}
