package ocode

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// memoryPrefix begins the state keys of memories.
const memoryPrefix = "memory/"

// Limits of a memory, in bytes. The state store has its own, which they stay
// below.
const (
	maxMemoryKey   = 256
	maxMemoryValue = 8 << 20
)

// memory is what is stored of one.
type memory struct {
	Value   string    `json:"value"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// remembered is a memory with its names.
type remembered struct {
	Key      string    `json:"key"`
	Category string    `json:"category"`
	Type     string    `json:"memory_type"`
	Value    string    `json:"value"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	// Bytes is the size of a value that is shown in part; else 0.
	Bytes int `json:"bytes,omitempty"`
}

// memoryKey is the state key of a memory. Both names are escaped, so that no
// two pairs of them make the same key.
func memoryKey(category, key string) string {
	return memoryPrefix + url.QueryEscape(category) + "/" + url.QueryEscape(key)
}

// memoryNames takes a state key apart again.
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

// checkMemoryNames refuses what the store cannot hold.
func checkMemoryNames(category, key string) error {
	for name, value := range map[string]string{"key": key, "category": category} {
		if len(value) > maxMemoryKey {
			return invalid("Choose a shorter one, and put the rest into the value.",
				"Invalid %s: it has %d bytes, and at most %d are allowed", name, len(value), maxMemoryKey)
		}
	}
	return nil
}

// scopes are the stores that a memory_type means.
func scopes(memoryType string) []tool.Scope {
	switch memoryType {
	case "session":
		return []tool.Scope{tool.SessionScope}
	case "all":
		return []tool.Scope{tool.PersistentScope, tool.SessionScope}
	}
	return []tool.Scope{tool.PersistentScope}
}

// recall finds the memories of a scope. An empty key or category means any.
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
			continue // gone meanwhile, or none of ours
		}
		found = append(found, remembered{Key: key, Category: category, Type: string(scope), Value: m.Value,
			Created: m.Created, Updated: m.Updated})
	}
	return found, nil
}
