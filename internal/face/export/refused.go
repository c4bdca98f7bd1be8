package export

import (
	_ "embed" // the table
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// refusedJSON lists what each model API refuses in a tool's schema, its error message and the sources.
// One such schema can cost a client all its tools.
//
//go:embed refused.json
var refusedJSON []byte

type refusal struct {
	Rule string   `json:"rule"`
	APIs []Format `json:"apis"`
	// Keywords are those refused (rule root) or allowed (rules format and keywords).
	Keywords []string `json:"keywords"`
	// Pattern must match names (rule names).
	Pattern string `json:"pattern"`
	// Warn is the warning; empty if clients of that API remove it themselves.
	Warn string `json:"warn"`
	// Says is the API's message, Sources where it was seen.
	Says    string   `json:"says"`
	Sources []string `json:"sources"`

	name *regexp.Regexp
}

var refusals = sync.OnceValue(func() (all []refusal) {
	if err := json.Unmarshal(refusedJSON, &all); err != nil {
		panic(err) // it is built in
	}
	for i := range all {
		all[i].name = regexp.MustCompile(all[i].Pattern)
	}
	return all
})

// ruleOf returns an API's refusal by rule, or nil.
func ruleOf(format Format, rule string) *refusal {
	for i, r := range refusals() {
		if r.Rule == rule && slices.Contains(r.APIs, format) {
			return &refusals()[i]
		}
	}
	return nil
}

// Refused returns what model APIs refuse in a parameter schema, a sentence for each place, except what
// clients correct for all tools. Over MCP a schema is sent unchanged.
func Refused(parameters json.RawMessage) (sentences []string) {
	value, err := decode(parameters)
	root, ok := value.(object)
	if err != nil || !ok {
		return nil
	}
	by := make(map[string][]string) // APIs by sentence
	for _, r := range refusals() {
		if r.Warn == "" {
			continue
		}
		for _, place := range r.places(root) {
			what := place + ": " + r.Warn + " is refused by "
			if by[what] == nil {
				sentences = append(sentences, what)
			}
			for _, api := range r.APIs {
				by[what] = append(by[what], string(api))
			}
		}
	}
	for i, what := range sentences {
		sentences[i] += strings.Join(by[what], ", ")
	}
	return sentences
}

// places returns where a schema violates the rule, as paths of properties and keywords.
func (r *refusal) places(root object) (found []string) {
	switch r.Rule {
	case "root":
		for _, m := range root {
			if slices.Contains(r.Keywords, m.Key) {
				found = append(found, m.Key)
			}
		}
	case "names":
		properties, _ := root.get("properties").(object)
		for _, m := range properties {
			if !r.name.MatchString(m.Key) {
				found = append(found, fmt.Sprintf("%q", m.Key))
			}
		}
	default:
		r.walk(root, nil, &found)
	}
	return found
}

func (r *refusal) walk(value any, path []string, found *[]string) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			r.walk(v, path, found)
		}
	case object:
		if r.refuses(value) {
			*found = append(*found, strings.Join(path, "."))
			if len(path) == 0 {
				(*found)[len(*found)-1] = "the root"
			}
		}
		for _, m := range value {
			switch m.Key {
			case "const", "enum", "default", "examples":
				continue
			}
			if named, ok := m.Value.(object); ok && namedSchemas[m.Key] {
				for _, n := range named {
					r.walk(n.Value, append(slices.Clip(path), n.Key), found)
				}
				continue
			}
			r.walk(m.Value, append(slices.Clip(path), m.Key), found)
		}
	}
}

// refuses reports whether a schema itself, without nested ones, violates the rule.
func (r *refusal) refuses(schema object) bool {
	switch r.Rule {
	case "items":
		kinds, _ := schema.get("type").([]any)
		isArray := schema.get("type") == "array" || slices.Contains(kinds, any("array"))
		return isArray && schema.get("items") == nil
	case "enum":
		values, ok := schema.get("enum").([]any)
		if value := schema.get("const"); value != nil {
			values, ok = []any{value}, true
		}
		return ok && slices.ContainsFunc(values, func(v any) bool {
			_, isText := v.(string)
			return !isText && v != nil
		})
	case "required":
		return len(undefined(schema)) > 0
	}
	return false
}

// undefined returns the required names that are not properties, if there are properties.
func undefined(schema object) (names []any) {
	properties, ok := schema.get("properties").(object)
	required, _ := schema.get("required").([]any)
	for _, name := range required {
		if text, isText := name.(string); ok && isText && !properties.has(text) {
			names = append(names, name)
		}
	}
	return names
}
