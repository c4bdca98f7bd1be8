package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// yamlFile is YAML. Mappings are edited line by line, by their indentation, as
// people and programs write them; a mapping in braces is not edited unless it
// is empty.
type yamlFile struct{}

func (yamlFile) decode(text []byte) (any, error) {
	data := map[string]any{}
	if err := yaml.Unmarshal(text, &data); err != nil {
		return nil, err
	}
	return data, nil
}

var errFlow = errors.New("the mapping is written in braces")

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
		if p == nil {
			return nil, parent, nil
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

func (yamlFile) set(text []byte, path []string, fields []field) ([]byte, error) {
	entry, parent, err := lookup(text, path)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return createYAML(text, path, parent, fields)
	}
	for _, f := range fields {
		if text, err = setYAML(text, path, f); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// createYAML adds an entry at the end of its mapping, which is made if need be.
func createYAML(text []byte, path []string, parent *pair, fields []field) ([]byte, error) {
	y := openYAML(text)
	if parent == nil {
		y.final = true
		entry := render(path, 0, 2, fields)
		y.insert(len(y.lines), entry...)
		return y.bytes(), nil
	}
	indent, at := parent.indent+2, y.end(parent)
	switch v := parent.value; {
	case v.Kind == yaml.MappingNode && len(v.Content) == 0 && v.Style&yaml.FlowStyle != 0, v.Tag == "!!null":
		key, _, _ := strings.Cut(y.lines[parent.line], ":")
		comment := ""
		if v.LineComment != "" {
			comment = " " + v.LineComment
		}
		if v.Tag != "!!null" || v.Value != "" {
			y.lines[parent.line] = key + ":" + comment
		}
		at = parent.line + 1
	case v.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("line %d: %s is not a mapping", v.Line, path[0])
	case v.Style&yaml.FlowStyle != 0:
		return nil, fmt.Errorf("line %d: %w", v.Line, errFlow)
	default:
		indent = v.Content[0].Column - 1
	}
	y.final = true
	y.insert(at, render(path[len(path)-1:], indent, max(2, indent-parent.indent), fields)...)
	return y.bytes(), nil
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
		end := y.end(old)
		y.cut(old.line, end)
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

func (yamlFile) remove(text []byte, path []string) ([]byte, error) {
	entry, _, err := lookup(text, path)
	if err != nil {
		return nil, err
	}
	y := openYAML(text)
	y.cut(entry.line, y.end(entry))
	return y.bytes(), nil
}

// render writes mappings within each other that end in the fields.
func render(path []string, indent, unit int, fields []field) (lines []string) {
	for _, key := range path {
		lines = append(lines, strings.Repeat(" ", indent)+yamlString(key)+":")
		indent += unit
	}
	for _, f := range fields {
		lines = append(lines, renderField(f, indent, unit)...)
	}
	return lines
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

var plainYAML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./ ,-]*$`) })

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
