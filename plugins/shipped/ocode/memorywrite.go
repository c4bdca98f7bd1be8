package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
)

type memoryWriteParams struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Category  string `json:"category"`
	Type      string `json:"memory_type"`
	Operation string `json:"operation"`
}

func memoryWrite(deps Deps) tool.Tool {
	return newTool(deps, spec[memoryWriteParams]{
		Definition: tool.Definition{
			Name:  "memory_write",
			Title: "Remember something",
			Description: "Stores a value under a key in a category: persistent memory lasts as long as the workspace, session memory as long as the session. " +
				"set replaces what is there; append adds the value to it, on a line of its own; delete removes it, and needs no value. " +
				"Returns: what was done, and in metadata key, category, memory_type, operation and bytes.",
			Category: "memory",
			Risk:     tool.SafeWrite,
			Examples: []tool.Example{
				{Params: json.RawMessage(`{"key":"style","value":"tabs, not spaces","category":"project"}`)},
				{Params: json.RawMessage(`{"key":"log","value":"tests pass","memory_type":"session","operation":"append"}`)},
				{Params: json.RawMessage(`{"key":"style","value":"","category":"project","operation":"delete"}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "key", Type: "string", Required: true, Description: "The name of the memory."},
			{Name: "value", Type: "string", Required: true, Description: "What to remember."},
			{Name: "category", Type: "string", Default: "general", Description: "The group of memories that it belongs to. The same key may be used in several."},
			{Name: "memory_type", Type: "string", Default: "persistent", Enum: registry.Strings("persistent", "session"), Description: "How long it is kept."},
			{Name: "operation", Type: "string", Default: "set", Enum: registry.Strings("set", "append", "delete"), Description: "What to do."},
		},
		facts: `"key":{"type":"string","description":"The name."},` +
			`"category":{"type":"string","description":"The group."},` +
			`"memory_type":{"type":"string","description":"How long it is kept."},` +
			`"operation":{"type":"string","description":"What was done."},` +
			`"bytes":{"type":"integer","description":"Size of the value now."},` +
			`"created":{"type":"boolean","description":"Whether the memory is new."}`,
		aliases: aliases{{"", "value", nothingToStore}},
		run:     runMemoryWrite,
	})
}

// nothingToStore lets a deletion come without a value.
func nothingToStore(_ json.RawMessage, all map[string]json.RawMessage) (json.RawMessage, bool) {
	return json.RawMessage(`""`), string(all["operation"]) == `"delete"`
}

func runMemoryWrite(ctx context.Context, _ Deps, call *tool.Call, p memoryWriteParams) (*outcome, error) {
	if p.Key == "" {
		return nil, invalid("Name the memory.", "Key is required")
	}
	if p.Category == "" {
		p.Category = "general"
	}
	if err := checkMemoryNames(p.Category, p.Key); err != nil {
		return nil, err
	}
	var before, after *memory
	err := call.State(scopes(p.Type)[0]).Update(ctx, memoryKey(p.Category, p.Key), func(old []byte) ([]byte, error) {
		var err error
		if before, err = readMemory(old); err != nil {
			return nil, err
		}
		if after, err = p.change(before); err != nil || after == nil {
			return nil, err
		}
		return tool.MustMarshal(after), nil
	})
	if err != nil {
		return nil, err
	}
	return p.report(before, after), nil
}

func readMemory(raw []byte) (*memory, error) {
	if raw == nil {
		return nil, nil
	}
	m := new(memory)
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("the stored memory: %w", err)
	}
	return m, nil
}

// change makes the new memory of the old one; nil for none.
func (p memoryWriteParams) change(old *memory) (*memory, error) {
	now := time.Now().UTC()
	m := &memory{Value: p.Value, Created: now, Updated: now}
	switch {
	case p.Operation == "delete" && old == nil:
		return nil, tool.Errorf(tool.NotFound, "Memory not found: %s in category %s (%s)", p.Key, p.Category, p.Type).
			Suggest("memory_read without a key lists what there is.")
	case p.Operation == "delete":
		return nil, nil
	case old == nil:
	case p.Operation == "append":
		m.Value = joined(old.Value, p.Value)
		fallthrough
	default:
		m.Created = old.Created
	}
	if len(m.Value) > maxMemoryValue {
		return nil, tool.Errorf(tool.TooLarge, "Memory too large: %s would have %d bytes, and at most %d are kept", p.Key, len(m.Value), maxMemoryValue).
			Suggest("Keep it in a file, and the file's name in the memory.")
	}
	return m, nil
}

// joined puts two texts on lines of their own.
func joined(a, b string) string {
	if a == "" || strings.HasSuffix(a, "\n") {
		return a + b
	}
	return a + "\n" + b
}

func (p memoryWriteParams) report(before, after *memory) *outcome {
	did := map[string]string{"set": "Stored", "append": "Appended to", "delete": "Deleted"}[p.Operation]
	o := &outcome{
		output: fmt.Sprintf("%s %s memory '%s' in category '%s'", did, p.Type, p.Key, p.Category),
		metadata: facts{
			"key": p.Key, "category": p.Category, "memory_type": p.Type, "operation": p.Operation,
			"bytes": 0, "created": before == nil && after != nil,
		},
	}
	if after != nil {
		o.set("bytes", len(after.Value))
	}
	return o
}
