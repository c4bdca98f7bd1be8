package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

const memoryPrefix = "memory/"

// Limits of a memory, in bytes, below the state store's.
const (
	maxMemoryKey   = 256
	maxMemoryValue = 8 << 20
)

type memory struct {
	Value   string    `json:"value"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

type remembered struct {
	Key      string    `json:"key"`
	Category string    `json:"category"`
	Type     string    `json:"memory_type"`
	Value    string    `json:"value"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	// Bytes is the size of a value that is shown in part, else 0.
	Bytes int `json:"bytes,omitempty"`
}

// memoryKey returns a memory's state key. Both names are escaped, so keys are unique.
func memoryKey(category, key string) string {
	return memoryPrefix + url.QueryEscape(category) + "/" + url.QueryEscape(key)
}

func memoryNames(stateKey string) (category, key string, ok bool) {
	rest, ok := strings.CutPrefix(stateKey, memoryPrefix)
	if !ok {
		return "", "", false
	}
	category, key, ok = strings.Cut(rest, "/")
	if !ok {
		return "", "", false
	}
	c, errC := url.QueryUnescape(category)
	k, errK := url.QueryUnescape(key)
	return c, k, errC == nil && errK == nil
}

func checkMemoryNames(category, key string) error {
	for name, value := range map[string]string{"key": key, "category": category} {
		if len(value) > maxMemoryKey {
			return invalid("Choose a shorter one, and put the rest into the value.",
				"Invalid %s: it has %d bytes, and at most %d are allowed", name, len(value), maxMemoryKey)
		}
	}
	return nil
}

// scopes returns the stores that a memory_type means.
func scopes(memoryType string) []tool.Scope {
	switch memoryType {
	case "session":
		return []tool.Scope{tool.SessionScope}
	case "all":
		return []tool.Scope{tool.PersistentScope, tool.SessionScope}
	}
	return []tool.Scope{tool.PersistentScope}
}

// recall finds memories of a scope. An empty key or category matches any.
func recall(ctx context.Context, call *tool.Call, scope tool.Scope, category, key string) ([]remembered, error) {
	state := call.State(scope)
	if key != "" && category != "" {
		return recallKeys(ctx, state, scope, []string{memoryKey(category, key)})
	}
	prefix := memoryPrefix
	if category != "" {
		prefix = memoryKey(category, "")
	}
	keys, err := state.Keys(ctx, prefix)
	if err != nil {
		return nil, err
	}
	if key != "" {
		keys = slices.DeleteFunc(keys, func(k string) bool {
			_, name, ok := memoryNames(k)
			return !ok || name != key
		})
	}
	return recallKeys(ctx, state, scope, keys)
}

func recallKeys(ctx context.Context, state tool.State, scope tool.Scope, keys []string) ([]remembered, error) {
	var found []remembered
	for _, stateKey := range keys {
		raw, ok, err := state.Get(ctx, stateKey)
		if err != nil {
			return nil, err
		}
		category, key, named := memoryNames(stateKey)
		var m memory
		if !ok || !named || json.Unmarshal(raw, &m) != nil {
			continue // deleted meanwhile, or not a memory
		}
		found = append(found, remembered{Key: key, Category: category, Type: string(scope), Value: m.Value,
			Created: m.Created, Updated: m.Updated})
	}
	return found, nil
}

// memoryShown limits memory_read's text, memoryLine each value in a list, in bytes.
const (
	memoryShown = 1 << 20
	memoryLine  = 200
)

type memoryReadParams struct {
	Key      string `json:"key"`
	Category string `json:"category"`
	Type     string `json:"memory_type"`
}

func runMemoryRead(ctx context.Context, _ Deps, call *tool.Call, p memoryReadParams) (*outcome, error) {
	if err := checkMemoryNames(p.Category, p.Key); err != nil {
		return nil, err
	}
	var all []remembered
	for _, scope := range scopes(p.Type) {
		found, err := recall(ctx, call, scope, p.Category, p.Key)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 && p.Key != "" {
		return nil, p.missing()
	}
	return p.report(all), nil
}

func (p memoryReadParams) missing() error {
	where := ""
	if p.Category != "" {
		where = " in category " + p.Category
	}
	return tool.Errorf(tool.NotFound, "Memory not found: %s%s (%s)", p.Key, where, p.Type).
		Suggest("memory_read without a key lists what there is; memory_type all looks in both memories.")
}

func (p memoryReadParams) report(all []remembered) *outcome {
	o := &outcome{metadata: facts{"count": len(all)}}
	shown := all
	if len(all) == 1 && p.Key != "" {
		o.output = all[0].Value
	} else {
		var lines []string
		lines, shown = listed(all)
		o.output = strings.Join(lines, "\n")
	}
	if len(all) == 0 {
		o.output = "No memories found"
	}
	if left := len(all) - len(shown); left > 0 {
		o.Truncated = true
		o.warn(fmt.Sprintf("%d of %d memories are shown; name a category or a key to see the others", len(shown),
			len(all)))
	}
	if cut := shorten(shown, p.Key != ""); cut > 0 {
		o.Truncated = true
		o.warn(fmt.Sprintf("%d of the values in metadata are cut; name the key and category of one to see it whole",
			cut))
	}
	o.set("memories", append([]remembered{}, shown...))
	return o
}

// listed returns a line for each memory, as many as fit.
func listed(all []remembered) (lines []string, shown []remembered) {
	room := memoryShown
	for _, m := range all {
		line := fmt.Sprintf("[%s] %s: %s", m.Category, m.Key, oneLine(m.Value))
		if room -= len(line); room < 0 {
			break
		}
		lines, shown = append(lines, line), append(shown, m)
	}
	return lines, shown
}

// shorten cuts values so that a large one does not hide others, and returns how many it cut. A
// single requested one stays whole.
func shorten(shown []remembered, asked bool) (cut int) {
	if asked && len(shown) == 1 {
		return 0
	}
	room := memoryShown
	for i := range shown {
		m := &shown[i]
		if len(m.Value) > memoryLine && len(m.Value) > room {
			m.Value, m.Bytes = truncate.Head(m.Value, memoryLine), len(m.Value)
			cut++
		}
		room -= len(m.Value)
	}
	return cut
}

// oneLine returns the start of a value and how much is left out.
func oneLine(value string) string {
	first, rest, more := strings.Cut(value, "\n")
	if len(first) > memoryLine {
		cut := truncate.Head(first, memoryLine)
		return fmt.Sprintf("%s [... %d more bytes]", cut, len(value)-len(cut))
	}
	if more && rest != "" {
		if lines := strings.Count(strings.TrimSuffix(rest, "\n"), "\n") + 1; lines > 1 {
			return fmt.Sprintf("%s [... %d more lines]", first, lines)
		}
		return first + " [... 1 more line]"
	}
	return first
}

type memoryWriteParams struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Category  string `json:"category"`
	Type      string `json:"memory_type"`
	Operation string `json:"operation"`
}

// nothingToStore allows a deletion without a value.
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
		return nil, fmt.Errorf("the stored memory cannot be read: %w", err)
	}
	return m, nil
}

// change returns the new memory. old may be nil.
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
		m.Value = paragraph(old.Value) + p.Value
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
