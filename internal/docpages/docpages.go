// Package docpages writes tools as Markdown: a page for each from its
// definition, and an index. The same definitions always give the same text.
package docpages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/jsontext"
)

// Tool is a tool to write about.
type Tool struct {
	Definition *tool.Definition
	// Source says where it comes from.
	Source string
}

// Index is the name of the page that lists the others.
const Index = "README.md"

// Pages gives the pages by their file names.
func Pages(title string, tools []Tool) map[string][]byte {
	tools = slices.SortedFunc(slices.Values(tools),
		func(a, b Tool) int { return cmp.Compare(a.Definition.Name, b.Definition.Name) })
	pages := make(map[string][]byte, len(tools)+1)
	for _, t := range tools {
		pages[fileName(t)] = page(t)
	}
	pages[Index] = index(title, tools)
	return pages
}

func fileName(t Tool) string { return t.Definition.Name + ".md" }

func index(title string, tools []Tool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", text(title))
	var sources []string
	for _, t := range tools {
		if !slices.Contains(sources, t.Source) {
			sources = append(sources, t.Source)
		}
	}
	slices.Sort(sources)
	for _, source := range sources {
		fmt.Fprintf(&b, "## %s\n\n| tool | risk | |\n|---|---|---|\n", text(source))
		for _, t := range tools {
			if t.Source == source {
				fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", code(t.Definition.Name), fileName(t), t.Definition.Risk,
					cell(sentence(t.Definition.Description)))
			}
		}
		b.WriteByte('\n')
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// sentence is the first sentence of a text.
func sentence(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return s
}

func page(t Tool) []byte {
	d := t.Definition
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", text(d.Name))
	if d.Title != "" && d.Title != d.Name {
		fmt.Fprintf(&b, "**%s**\n\n", text(d.Title))
	}
	fmt.Fprintf(&b, "%s\n\n| | |\n|---|---|\n| from | %s |\n| risk | %s |\n", strings.TrimSpace(text(d.Description)),
		cell(t.Source), d.Risk)
	facts(&b, d)
	b.WriteString("\n## Parameters\n\n")
	properties(&b, d.Parameters, "None.")
	if len(d.Returns) > 0 {
		b.WriteString("\n## Result\n\n")
		properties(&b, d.Returns, "")
	}
	examples(&b, d)
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

func facts(b *bytes.Buffer, d *tool.Definition) {
	if len(d.Permissions) > 0 {
		names := make([]string, len(d.Permissions))
		for i, p := range d.Permissions {
			names[i] = string(p)
		}
		fmt.Fprintf(b, "| permissions | %s |\n", cell(strings.Join(names, ", ")))
	}
	if d.Timeout > 0 {
		fmt.Fprintf(b, "| timeout | %s |\n", d.Timeout)
	}
	if d.Idempotent {
		b.WriteString("| idempotent | yes |\n")
	}
}

func examples(b *bytes.Buffer, d *tool.Definition) {
	if len(d.Examples) == 0 {
		return
	}
	b.WriteString("\n## Examples\n")
	for _, e := range d.Examples {
		if e.Description != "" {
			fmt.Fprintf(b, "\n%s\n", text(e.Description))
		}
		fmt.Fprintf(b, "\n%s\n",
			fenced("sh", fmt.Sprintf("toolhost call %s --params '%s'", d.Name,
				strings.ReplaceAll(jsontext.Compact(e.Params), "'", `'\''`))))
	}
}

// schema is what is shown of a JSON Schema.
type schema struct {
	Type        any                        `json:"type"`
	Description string                     `json:"description"`
	Default     json.RawMessage            `json:"default"`
	Enum        []json.RawMessage          `json:"enum"`
	Minimum     *json.Number               `json:"minimum"`
	Maximum     *json.Number               `json:"maximum"`
	MinLength   *int                       `json:"minLength"`
	MaxLength   *int                       `json:"maxLength"`
	Pattern     string                     `json:"pattern"`
	Items       *schema                    `json:"items"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

// properties writes a table of an object's properties, or the schema as it is
// where that is not an object with properties.
func properties(b *bytes.Buffer, raw json.RawMessage, none string) {
	var s schema
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		fmt.Fprintln(b, none)
		return
	}
	if len(s.Properties) == 0 {
		if none == "" {
			none = fenced("json", jsontext.Indented(raw))
		}
		fmt.Fprintln(b, none)
		return
	}
	b.WriteString("| name | type | | |\n|---|---|---|---|\n")
	for _, name := range order(raw, s.Properties) {
		var p schema
		_ = json.Unmarshal(s.Properties[name], &p)
		required := ""
		if slices.Contains(s.Required, name) {
			required = "required"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(name), cell(p.typeText()), required,
			cell(strings.TrimSpace(p.Description+p.limits())))
	}
}

func (s *schema) typeText() string {
	switch t := s.Type.(type) {
	case string:
		if t == "array" && s.Items != nil {
			return "array of " + s.Items.typeText()
		}
		return t
	case []any:
		var names []string
		for _, one := range t {
			names = append(names, fmt.Sprint(one))
		}
		return strings.Join(names, " or ")
	}
	return "any"
}

// limits tells default, choices and bounds, each as a sentence.
func (s *schema) limits() string {
	var b strings.Builder
	if s.Default != nil {
		fmt.Fprintf(&b, " Default: %s.", code(jsontext.Compact(s.Default)))
	}
	if len(s.Enum) > 0 {
		choices := make([]string, len(s.Enum))
		for i, choice := range s.Enum {
			choices[i] = code(jsontext.Compact(choice))
		}
		fmt.Fprintf(&b, " One of %s.", strings.Join(choices, ", "))
	}
	for _, bound := range []struct {
		what  string
		value any
		set   bool
	}{
		{"At least", s.Minimum, s.Minimum != nil}, {"At most", s.Maximum, s.Maximum != nil},
	} {
		if bound.set {
			fmt.Fprintf(&b, " %s %s.", bound.what, *bound.value.(*json.Number))
		}
	}
	if s.MinLength != nil {
		fmt.Fprintf(&b, " At least %d characters.", *s.MinLength)
	}
	if s.MaxLength != nil {
		fmt.Fprintf(&b, " At most %d characters.", *s.MaxLength)
	}
	if s.Pattern != "" {
		fmt.Fprintf(&b, " Matches %s.", code(s.Pattern))
	}
	return b.String()
}

// order gives the names of the properties as the schema has them.
func order(raw json.RawMessage, properties map[string]json.RawMessage) []string {
	names := make([]string, 0, len(properties))
	var object struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(raw, &object) == nil {
		decoder := json.NewDecoder(bytes.NewReader(object.Properties))
		_, _ = decoder.Token() // {
		for decoder.More() {
			name, err := decoder.Token()
			var skipped json.RawMessage
			if err != nil || decoder.Decode(&skipped) != nil {
				break
			}
			if s, ok := name.(string); ok && !slices.Contains(names, s) {
				names = append(names, s)
			}
		}
	}
	return names
}

// text keeps what comes from a plugin from being anything but text.
func text(s string) string {
	return strings.NewReplacer("<", "&lt;", "\r", "").Replace(s)
}

// cell is text for one cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text(s))
}

// code is text in a code span, whatever backquotes it has.
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + strings.NewReplacer("|", "\\|", "\n", " ").Replace(s) + fence
}

// fenced is a block of code, whatever fences it has.
func fenced(language, s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + s + "\n" + fence
}
