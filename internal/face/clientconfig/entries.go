package clientconfig

import (
	"maps"
	"slices"
	"strings"
)

// Entry is a toolhost server in a client's file.
type Entry struct {
	// Name is its name in the client.
	Name string
	// Command is the program that the client starts.
	Command string
	// Toolset is the toolset it offers, "" for the project's tools.
	Toolset string
	// Env names the environment variables of the entry, sorted.
	Env []string
}

// Entries returns toolhost's entries in a client's file. The error is a *tool.Error.
func (c *Client) Entries(file string, text []byte) (found []Entry, err error) {
	_, data, err := c.read(file, text)
	if err != nil {
		return nil, err
	}
	path := c.path(data, "")
	servers, _ := at(data, path[:len(path)-1])
	all, _ := servers.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entry, _ := all[name].(map[string]any)
		if command := commandOf(entry); command[strings.LastIndexByte(command, '/')+1:] == "toolhost" {
			found = append(found, Entry{name, command, toolsetOf(entry), c.envOf(entry)})
		}
	}
	return found, nil
}

// commandOf returns an entry's program; the form depends on the client.
func commandOf(entry map[string]any) string {
	for _, key := range []string{"command", "cmd", "path", "transport"} {
		switch value := entry[key].(type) {
		case string:
			return value
		case []any:
			if len(value) > 0 {
				first, _ := value[0].(string)
				return first
			}
		case map[string]any:
			return commandOf(value)
		}
	}
	return ""
}

func toolsetOf(entry map[string]any) string {
	for _, key := range []string{"args", "command", "path", "transport"} {
		if inner, ok := entry[key].(map[string]any); ok {
			if found := toolsetOf(inner); found != "" {
				return found
			}
		}
		list, _ := entry[key].([]any)
		if i := slices.Index(list, any("--toolset")); i >= 0 && i+1 < len(list) {
			name, _ := list[i+1].(string)
			return name
		}
	}
	return ""
}

func (c *Client) envOf(entry map[string]any) (names []string) {
	keys := []string{"env"}
	if c.env != nil {
		keys = append(keys, c.env(nil).key)
	}
	for _, key := range keys {
		switch value := entry[key].(type) {
		case map[string]any:
			names = slices.AppendSeq(names, maps.Keys(value))
		case []any:
			for _, item := range value {
				if name, ok := item.(string); ok {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
