package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/toolhost/toolhost/internal/matching"
)

// yamlFile is YAML. Mappings are edited line by line, by their indentation, as
// people and programs write them; a mapping in braces is not edited unless it
// is empty.
//
// With list set, the entries are items of a list, and the field name tells
// them apart.
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

// named gives the items of a list by their names, or else by their places.
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

var errFlow = errors.New("it is written in braces or brackets")

// yamlLines is a file that is being edited.
type yamlLines struct {
	lines   []string // without line ends
	newline string
	final   bool // the last line has an end
}

func openYAML(text []byte) *yamlLines {
	y := &yamlLines{newline: "\n", final: len(text) == 0 || bytes.HasSuffix(text, []byte("\n"))}
	if bytes.Contains(text, []byte("\r\n")) {
		y.newline = "\r\n"
	}
	s := strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	if s != "" {
		y.lines = strings.Split(s, "\n")
	}
	return y
}

func (y *yamlLines) bytes() []byte {
	if len(y.lines) == 0 {
		return []byte{}
	}
	text := strings.Join(y.lines, y.newline)
	if y.final {
		text += y.newline
	}
	return []byte(text)
}

// insert puts lines before the line at.
func (y *yamlLines) insert(at int, lines ...string) {
	y.lines = append(y.lines[:at:at], append(lines, y.lines[at:]...)...)
}

func (y *yamlLines) cut(from, to int) {
	y.lines = append(y.lines[:from:from], y.lines[to:]...)
}

// pair is a key of a mapping with its value.
type pair struct {
	line   int // of the key, from 0
	indent int
	value  *yaml.Node
}

// lookup finds the pair at path, and the deepest one on the way to it.
func lookup(text []byte, path []string) (found, parent *pair, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil, nil
	}
	node := doc.Content[0]
	for i, key := range path {
		if node.Kind == yaml.AliasNode || node.Anchor != "" {
			return nil, nil, fmt.Errorf("line %d: anchors and aliases are not edited", node.Line)
		}
		p := pairOf(node, key)
		if node.Kind == yaml.SequenceNode {
			p, err = itemOf(text, node, key)
		}
		if p == nil || err != nil {
			return nil, parent, err
		}
		if node.Style&yaml.FlowStyle != 0 {
			return nil, nil, fmt.Errorf("line %d: %w", node.Line, errFlow)
		}
		if i == len(path)-1 {
			return p, parent, nil
		}
		parent, node = p, p.value
	}
	return nil, parent, nil
}

func pairOf(node *yaml.Node, key string) *pair {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if name := node.Content[i]; name.Value == key {
			return &pair{name.Line - 1, name.Column - 1, node.Content[i+1]}
		}
	}
	return nil
}

// itemOf finds the item of a list that has that name. It begins at its dash.
func itemOf(text []byte, list *yaml.Node, name string) (*pair, error) {
	for _, item := range list.Content {
		p := pairOf(item, "name")
		if p == nil || p.value.Value != name {
			continue
		}
		found := &pair{item.Line - 1, list.Column - 1, item}
		if line := openYAML(text).lines[found.line]; list.Style&yaml.FlowStyle == 0 &&
			!strings.HasPrefix(line[min(found.indent, len(line)):], "-") {
			return nil, fmt.Errorf("line %d: the item does not begin in the line of its dash", item.Line)
		}
		return found, nil
	}
	return nil, nil
}

// end is the line after a pair: lines that are indented deeper belong to it,
// and list items at its own depth. Blank lines after those do not, nor do
// comments that are not indented deeper.
func (y *yamlLines) end(p *pair) int {
	end := p.line + 1
	for i := end; i < len(y.lines); i++ {
		line := strings.TrimLeft(y.lines[i], " ")
		indent := len(y.lines[i]) - len(line)
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") && indent <= p.indent:
			continue
		case indent > p.indent:
		case indent == p.indent && strings.HasPrefix(line, "-") && p.value.Kind == yaml.SequenceNode:
		default:
			return end
		}
		end = i + 1
	}
	return end
}

func (f yamlFile) set(text []byte, path []string, fields []field) ([]byte, error) {
	entry, parent, err := lookup(text, path)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return f.create(text, path, parent, fields)
	}
	for _, field := range fields {
		if text, err = setYAML(text, path, field); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// create adds an entry at the end of its mapping or list, which is made if need
// be.
func (f yamlFile) create(text []byte, path []string, parent *pair, fields []field) ([]byte, error) {
	y := openYAML(text)
	if parent == nil {
		y.final = true
		y.insert(len(y.lines), append([]string{yamlString(path[0]) + ":"}, f.entry(path, 2, 2, fields)...)...)
		return y.bytes(), nil
	}
	kind, word := yaml.MappingNode, "mapping"
	if f.list {
		kind, word = yaml.SequenceNode, "list"
	}
	indent, at := parent.indent+2, y.end(parent)
	switch v := parent.value; {
	case v.Kind == kind && len(v.Content) == 0 && v.Style&yaml.FlowStyle != 0, v.Tag == "!!null":
		if v.Tag != "!!null" || v.Value != "" {
			y.setEmpty(parent, "")
		}
		at = parent.line + 1
	case v.Kind != kind:
		return nil, fmt.Errorf("line %d: %s is not a %s", v.Line, path[0], word)
	case v.Style&yaml.FlowStyle != 0:
		return nil, fmt.Errorf("line %d: %w", v.Line, errFlow)
	case f.list:
		indent = v.Column - 1
	default:
		indent = v.Content[0].Column - 1
	}
	y.final = true
	y.insert(at, f.entry(path, indent, max(2, indent-parent.indent), fields)...)
	return y.bytes(), nil
}

// setEmpty writes another value for a key that has nothing in it.
func (y *yamlLines) setEmpty(p *pair, value string) {
	key, rest, _ := strings.Cut(y.lines[p.line], ":")
	y.lines[p.line] = key + ":" + value
	comment := p.value.LineComment
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "#") {
		comment = rest
	}
	if comment != "" {
		y.lines[p.line] += " " + comment
	}
}

// entry writes an entry, a mapping below its name or an item of a list.
func (f yamlFile) entry(path []string, indent, unit int, fields []field) (lines []string) {
	lead := strings.Repeat(" ", indent)
	if !f.list {
		lines, indent = append(lines, lead+yamlString(path[len(path)-1])+":"), indent+unit
	} else {
		indent, unit = indent+2, 2
	}
	for _, field := range fields {
		lines = append(lines, renderField(field, indent, unit)...)
	}
	if f.list {
		lines[0] = lead + "- " + lines[0][indent:]
	}
	return lines
}

// setYAML sets one value of an entry that is there.
func setYAML(text []byte, path []string, f field) ([]byte, error) {
	y := openYAML(text)
	old, parent, err := lookup(text, append(path[:len(path):len(path)], f.key))
	if err != nil {
		return nil, err
	}
	if old != nil {
		lines := renderField(f, old.indent, 2)
		if comment := old.value.LineComment; comment != "" && len(lines) == 1 {
			lines[0] += " " + comment
		}
		lines[0] = y.lines[old.line][:old.indent] + lines[0][old.indent:] // a dash may be before it
		y.cut(old.line, y.end(old))
		y.insert(old.line, lines...)
		return y.bytes(), nil
	}
	v := parent.value
	if v.Kind != yaml.MappingNode || len(v.Content) == 0 || v.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("line %d: %w", v.Line, errFlow)
	}
	y.insert(y.end(parent), renderField(f, v.Content[0].Column-1, 2)...)
	return y.bytes(), nil
}

func (f yamlFile) remove(text []byte, path []string) ([]byte, error) {
	entry, parent, err := lookup(text, path)
	if err != nil {
		return nil, err
	}
	y := openYAML(text)
	y.cut(entry.line, y.end(entry))
	switch {
	case f.list && parent != nil && len(parent.value.Content) == 1:
		y.setEmpty(parent, " []")
	case !f.list && parent != nil && len(parent.value.Content) == 2:
		y.setEmpty(parent, " {}")
	}
	return y.bytes(), nil
}

func renderField(f field, indent, unit int) []string {
	lead := strings.Repeat(" ", indent) + f.key + ":"
	list, ok := f.value.([]string)
	if !ok {
		if s, isText := f.value.(string); isText {
			return []string{lead + " " + yamlString(s)}
		}
		return []string{lead + " " + fmt.Sprint(f.value)}
	}
	if len(list) == 0 {
		return []string{lead + " []"}
	}
	lines := []string{lead}
	for _, s := range list {
		lines = append(lines, strings.Repeat(" ", indent+unit)+"- "+yamlString(s))
	}
	return lines
}

var plainYAML = matching.Lazy(`^[A-Za-z/][A-Za-z0-9_./ ,-]*$`)

// yamlString writes a text plainly where that cannot be taken for anything
// else. A JSON string is a YAML one.
func yamlString(s string) string {
	if plainYAML().MatchString(s) && s == strings.TrimSpace(s) {
		var back any
		if yaml.Unmarshal([]byte(s), &back) == nil && back == any(s) {
			return s
		}
	}
	return quoteJSON(s)
}
