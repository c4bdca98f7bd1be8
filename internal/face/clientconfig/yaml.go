package clientconfig

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// yamlFile is YAML, which is read but not edited: the user adds the entry by hand.
//
// With list set, the entries are items of a list, identified by the field name.
type yamlFile struct{ list bool }

func (f yamlFile) decode(text []byte) (any, error) {
	data := map[string]any{}
	if err := yaml.Unmarshal(text, &data); err != nil {
		return nil, err
	}
	if f.list {
		for key, value := range data {
			if items, ok := value.([]any); ok {
				data[key] = named(items)
			}
		}
	}
	return data, nil
}

// named returns a list's items by name, or else by place.
func named(items []any) map[string]any {
	all := make(map[string]any)
	for i, item := range items {
		fields, _ := item.(map[string]any)
		name, ok := fields["name"].(string)
		if _, taken := all[name]; !ok || taken {
			name = fmt.Sprintf("item %d", i)
		}
		all[name] = item
	}
	return all
}

// set adds the entry to the initial content of a file.
func (f yamlFile) set(text []byte, path []string, fields []field) ([]byte, error) {
	var b strings.Builder
	b.Write(text)
	b.WriteString(path[0] + ":\n")
	lead := "    "
	if !f.list {
		b.WriteString("  " + yamlString(path[1]) + ":\n")
	}
	for i, field := range fields {
		mark := lead
		if f.list && i == 0 {
			mark = "  - "
		}
		b.WriteString(mark + field.key + ":")
		switch value := field.value.(type) {
		case []string:
			for _, s := range value {
				b.WriteString("\n" + lead + "  - " + yamlString(s))
			}
		case string:
			b.WriteString(" " + yamlString(value))
		default:
			b.WriteString(" " + fmt.Sprint(value))
		}
		b.WriteString("\n")
	}
	return []byte(b.String()), nil
}

var errNoYAML = errors.New("toolhost does not edit YAML")

func (yamlFile) remove([]byte, []string) ([]byte, error) { return nil, errNoYAML }

var plainYAML = regexlimit.Lazy(`^[A-Za-z/][A-Za-z0-9_./ ,-]*$`)

// yamlString returns a string without quotes if that is unambiguous. A JSON string is a YAML one.
func yamlString(s string) string {
	if plainYAML().MatchString(s) && s == strings.TrimSpace(s) {
		var back any
		if yaml.Unmarshal([]byte(s), &back) == nil && back == any(s) {
			return s
		}
	}
	return quoteJSON(s)
}
