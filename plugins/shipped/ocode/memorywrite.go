package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

type memoryWriteParams struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Category  string `json:"category"`
	Type      string `json:"memory_type"`
	Operation string `json:"operation"`
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
		return nil,
			tool.Errorf(tool.TooLarge, "Memory too large: %s would have %d bytes, and at most %d are kept", p.Key,
				len(m.Value), maxMemoryValue).
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
