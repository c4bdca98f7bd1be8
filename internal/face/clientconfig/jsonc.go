package clientconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolhost/toolhost/host/tool"
)

// jsonc is JSON, with comments and trailing commas where a client allows them.
type jsonc struct{}

var bom = []byte("\uFEFF")

func (jsonc) decode(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, bom)
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	plain, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		return nil, err
	}
	if _, ok := data.(map[string]any); !ok {
		return nil, fmt.Errorf("line 1: it does not hold an object")
	}
	return data, nil
}

type jsonText struct {
	text    []byte
	newline string
	unit    string // of indentation
}

func openJSON(text []byte) (*jsonText, *hujson.Object, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, nil, fmt.Errorf("it does not hold an object")
	}
	j := &jsonText{text: text, newline: "\n", unit: "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		j.newline = "\r\n"
	}
	if len(object.Members) > 0 {
		if own := j.indent(object.Members[0].Name.StartOffset); own != "" {
			j.unit = own
		}
	}
	return j, object, nil
}

// indent returns the white space before offset in its line, "" if there is other text.
func (j *jsonText) indent(offset int) string {
	start := bytes.LastIndexByte(j.text[:offset], '\n') + 1
	lead := j.text[start:offset]
	if len(bytes.Trim(lead, " \t")) > 0 {
		return ""
	}
	return string(lead)
}

func (j *jsonText) lineIndent(offset int) string {
	line := j.text[bytes.LastIndexByte(j.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (jsonc) set(text []byte, path []string, fields []field) ([]byte, error) {
	mark := bytes.HasPrefix(text, bom)
	text = bytes.TrimPrefix(text, bom)
	data, err := jsonc{}.decode(text)
	if err != nil {
		return nil, err
	}
	if _, exists := at(data, path); !exists {
		text, err = setJSON(text, path, members(fields))
		fields = nil
	}
	for i := 0; i < len(fields) && err == nil; i++ {
		text, err = setJSON(text, slices.Concat(path, fields[i].path()), fields[i].value)
	}
	if err != nil {
		return nil, err
	}
	if mark {
		text = append(bytes.Clone(bom), text...)
	}
	return text, nil
}

// setJSON sets a value, making objects on the way.
func setJSON(text []byte, path []string, value any) ([]byte, error) {
	j, object, err := openJSON(text)
	if err != nil {
		return nil, err
	}
	start := bytes.IndexByte(j.text, '{')
	if root, err := hujson.Parse(bytes.Clone(j.text)); err == nil {
		start = root.StartOffset
	}
	for i, key := range path {
		m := findMember(object, key)
		last := i == len(path)-1
		switch {
		case m == nil:
			return j.insert(object, start, key, nest(path[i+1:], value)), nil
		case last:
			return j.replace(m.Value, value), nil
		}
		inner, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("line %d: %s is not an object", j.line(m.Value.StartOffset), key)
		}
		object, start = inner, m.Value.StartOffset
	}
	return j.text, nil
}

// nest wraps a value into objects of the given keys.
func nest(keys []string, value any) any {
	for i := len(keys) - 1; i >= 0; i-- {
		value = members{{key: keys[i], value: value}}
	}
	return value
}

func findMember(o *hujson.Object, key string) *hujson.ObjectMember {
	for i := len(o.Members) - 1; i >= 0; i-- { // the last one counts
		if literal, ok := o.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == key {
			return &o.Members[i]
		}
	}
	return nil
}

func (j *jsonText) line(offset int) int { return 1 + bytes.Count(j.text[:offset], []byte{'\n'}) }

func (j *jsonText) replace(v hujson.Value, value any) []byte {
	return splice(j.text, v.StartOffset, v.EndOffset, j.render(value, j.lineIndent(v.StartOffset)))
}

// insert adds a member at the end of the object that begins at start.
func (j *jsonText) insert(o *hujson.Object, start int, key string, value any) []byte {
	end := j.objectEnd(o, start)
	outer := j.lineIndent(start)
	inner := outer + j.unit
	if len(o.Members) == 0 {
		body := j.newline + inner + quoteJSON(key) + ": " + j.render(value, inner) + j.newline + outer
		kept := bytes.TrimRight(j.text[start+1:end], " \t\r\n") // comments
		return splice(j.text, start+1, end, string(kept)+body)
	}
	last := o.Members[len(o.Members)-1].Value
	if own := j.indent(o.Members[0].Name.StartOffset); own != "" {
		inner = own
	}
	tail := string(j.text[last.EndOffset:end]) // comments, and any trailing comma
	before, after := ",", ""
	if j.endsInComma(last) {
		before, after = "", ","
	}
	if !bytes.Contains(j.text[start:end], []byte("\n")) {
		flat := before + strings.TrimRight(tail, " \t") + " " + quoteJSON(key) + ": " + j.renderFlat(value) + after +
			trailing(tail)
		return splice(j.text, last.EndOffset, end, flat)
	}
	text := before + strings.TrimRight(tail, " \t\r\n") + j.newline + inner + quoteJSON(key) + ": " +
		j.render(value, inner) + after
	return splice(j.text, last.EndOffset, end, text+j.newline+outer)
}

func (j *jsonText) endsInComma(last hujson.Value) bool {
	return j.text[last.EndOffset+len(last.AfterExtra)] == ','
}

func trailing(s string) string { return s[len(strings.TrimRight(s, " \t")):] }

func (j *jsonText) objectEnd(o *hujson.Object, start int) int {
	if len(o.Members) == 0 {
		return start + 1 + len(o.AfterExtra)
	}
	last := o.Members[len(o.Members)-1].Value
	if j.endsInComma(last) {
		return last.EndOffset + len(last.AfterExtra) + 1 + len(o.AfterExtra)
	}
	return last.EndOffset + len(o.AfterExtra)
}

// render writes a value over several lines; indent begins its line.
func (j *jsonText) render(value any, indent string) string {
	object, ok := value.(members)
	if !ok {
		return j.renderFlat(value)
	}
	lines := make([]string, len(object))
	for i, m := range object {
		lines[i] = j.newline + indent + j.unit + quoteJSON(m.key) + ": " + j.render(m.value, indent+j.unit)
	}
	return "{" + strings.Join(lines, ",") + j.newline + indent + "}"
}

// renderFlat writes a value on one line.
func (j *jsonText) renderFlat(value any) string {
	switch v := value.(type) {
	case verbatim:
		return string(v)
	case members:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = quoteJSON(m.key) + ": " + j.renderFlat(m.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quoteJSON(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return string(tool.MustMarshal(value))
}

func quoteJSON(s string) string { return string(tool.MustMarshal(s)) }

func splice(text []byte, from, to int, with string) []byte {
	out := make([]byte, 0, len(text)+len(with))
	return append(append(append(out, text[:from]...), with...), text[to:]...)
}

func (jsonc) remove(text []byte, path []string) ([]byte, error) {
	mark := bytes.HasPrefix(text, bom)
	j, object, err := openJSON(bytes.TrimPrefix(text, bom))
	if err != nil {
		return nil, err
	}
	start := bytes.IndexByte(j.text, '{')
	for _, key := range path[:len(path)-1] {
		m := findMember(object, key)
		inner, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("line %d: %s is not an object", j.line(m.Value.StartOffset), key)
		}
		object, start = inner, m.Value.StartOffset
	}
	out := j.text
	for i := len(object.Members) - 1; i >= 0; i-- {
		if literal, ok := object.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == path[len(path)-1] {
			out = j.cut(object, start, i)
			break
		}
	}
	if mark {
		out = append(bytes.Clone(bom), out...)
	}
	return out, nil
}

// cut removes a member with its comma, and its line if left empty.
func (j *jsonText) cut(o *hujson.Object, start, i int) []byte {
	m := o.Members[i]
	from, to := m.Name.StartOffset, m.Value.EndOffset
	comma := to + len(m.Value.AfterExtra)
	hasComma := comma < len(j.text) && j.text[comma] == ','
	switch {
	case hasComma && len(bytes.TrimSpace(j.text[to:comma])) == 0:
		to = comma + 1
	case hasComma: // a comment between value and comma stays
		return splice(splice(j.text, comma, comma+1, ""), from, to, "")
	case i > 0: // the last one: remove the comma before it
		before := o.Members[i-1].Value
		at := before.EndOffset + len(before.AfterExtra)
		return splice(j.cutLine(from, to), at, at+1, "")
	}
	if len(o.Members) == 1 && len(bytes.TrimSpace(j.text[start+1:from])) == 0 {
		if end := bytes.IndexByte(j.text[to:], '}'); end >= 0 && len(bytes.TrimSpace(j.text[to:to+end])) == 0 {
			return splice(j.text, start+1, to+end, "")
		}
	}
	return j.cutLine(from, to)
}

// cutLine removes text, and its line if left empty.
func (j *jsonText) cutLine(from, to int) []byte {
	lead := len(bytes.TrimRight(j.text[:from], " \t"))
	rest := j.text[to:]
	after := len(rest) - len(bytes.TrimLeft(rest, " \t\r"))
	aloneAtEnd := to+after == len(j.text) || j.text[to+after] == '\n' || j.text[to+after] == '}'
	if lead > 0 && j.text[lead-1] == '\n' && aloneAtEnd {
		cut := lead - 1
		if cut > 0 && j.text[cut-1] == '\r' {
			cut--
		}
		return splice(j.text, cut, to, "")
	}
	if lead > 0 && j.text[lead-1] == ',' {
		return splice(j.text, lead, to, "")
	}
	return splice(j.text, from, to+len(rest)-len(bytes.TrimLeft(rest, " \t")), "")
}
