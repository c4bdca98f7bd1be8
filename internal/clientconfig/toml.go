package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/toolhost/toolhost/internal/matching"
)

// tomlFile is TOML.
type tomlFile struct{}

func (tomlFile) decode(text []byte) (any, error) {
	data := map[string]any{}
	if err := toml.Unmarshal(bytes.TrimPrefix(text, bom), &data); err != nil {
		var broken *toml.DecodeError
		if errors.As(err, &broken) {
			row, _ := broken.Position()
			return nil, fmt.Errorf("line %d: %w", row, err)
		}
		return nil, err
	}
	return data, nil
}

// tomlItem is a table header or a key with its value.
type tomlItem struct {
	path       []string // from the root on
	table      []string // that it is in
	start, end int      // of the header's line, or of key and value
	value      int      // where the value begins; 0 for a header
	inline     bool     // the value is an inline table
	inside     bool     // it lies in an inline table
}

// tomlText is a file that is being edited.
type tomlText struct {
	text    []byte
	newline string
	items   []tomlItem
}

func openTOML(text []byte) (*tomlText, error) {
	t := &tomlText{text: text, newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		t.newline = "\r\n"
	}
	var p unstable.Parser
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keys(e)
			start, end := t.lineOf(keyStart(e))
			t.items = append(t.items, tomlItem{path: table, start: start, end: end})
		case unstable.KeyValue:
			t.add(e, table, table, false)
		}
	}
	return t, p.Error()
}

// add notes a key and, in an inline table, those within.
func (t *tomlText) add(e *unstable.Node, table, parent []string, inside bool) {
	value := e.Value()
	item := tomlItem{
		path: slices.Concat(parent, keys(e)), table: table, inside: inside, inline: value.Kind == unstable.InlineTable,
		start: int(e.Raw.Offset), end: int(e.Raw.Offset + e.Raw.Length),
	}
	var last *unstable.Node
	for it := e.Key(); it.Next(); {
		last = it.Node()
	}
	after := int(last.Raw.Offset + last.Raw.Length)
	item.value = after + bytes.IndexByte(t.text[after:], '=') + 1
	item.value += len(t.text[item.value:]) - len(bytes.TrimLeft(t.text[item.value:], " \t"))
	t.items = append(t.items, item)
	if item.inline {
		for it := value.Children(); it.Next(); {
			if child := it.Node(); child.Kind == unstable.KeyValue {
				t.add(child, table, item.path, true)
			}
		}
	}
}

func keys(e *unstable.Node) (path []string) {
	for it := e.Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
	}
	return path
}

func keyStart(e *unstable.Node) int {
	it := e.Key()
	it.Next()
	return int(it.Node().Raw.Offset)
}

// lineOf gives the line of an offset, with its line end.
func (t *tomlText) lineOf(offset int) (start, end int) {
	start = bytes.LastIndexByte(t.text[:offset], '\n') + 1
	if i := bytes.IndexByte(t.text[offset:], '\n'); i >= 0 {
		return start, offset + i + 1
	}
	return start, len(t.text)
}

// find gives the item of that path, nil when there is none.
func (t *tomlText) find(path []string) *tomlItem {
	for i := range t.items {
		if slices.Equal(t.items[i].path, path) {
			return &t.items[i]
		}
	}
	return nil
}

// belongs reports whether path is entry or below it.
func belongs(path, entry []string) bool {
	return len(path) >= len(entry) && slices.Equal(path[:len(entry)], entry)
}

func (tomlFile) set(text []byte, path []string, fields []field) ([]byte, error) {
	t, err := openTOML(text)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(t.items, func(i tomlItem) bool { return belongs(i.path, path) }) {
		return t.create(path, fields), nil
	}
	for _, f := range fields {
		if t, err = openTOML(text); err != nil {
			return nil, err
		}
		text = t.setField(path, f)
	}
	return text, nil
}

// create adds an entry: a table of its own, or a member of an inline table.
func (t *tomlText) create(path []string, fields []field) []byte {
	if parent := t.find(path[:len(path)-1]); parent != nil && parent.inline {
		parts := make([]string, len(fields))
		for i, f := range fields {
			parts[i] = f.key + " = " + tomlValue(f.value)
		}
		return t.insertInline(parent, tomlKey(path[len(path)-1])+" = { "+strings.Join(parts, ", ")+" }")
	}
	var b strings.Builder
	if len(t.text) > 0 {
		if !bytes.HasSuffix(t.text, []byte("\n")) {
			b.WriteString(t.newline)
		}
		b.WriteString(t.newline)
	}
	b.WriteString("[" + dotted(path) + "]")
	for _, f := range fields {
		b.WriteString(t.newline + f.key + " = " + tomlValue(f.value))
	}
	if len(t.text) == 0 || bytes.HasSuffix(t.text, []byte("\n")) {
		b.WriteString(t.newline)
	}
	return splice(t.text, len(t.text), len(t.text), b.String())
}

// setField sets a value of an entry that is there.
func (t *tomlText) setField(path []string, f field) []byte {
	line := f.key + " = " + tomlValue(f.value)
	if item := t.find(slices.Concat(path, []string{f.key})); item != nil && item.value > 0 {
		return splice(t.text, item.value, item.end, tomlValue(f.value))
	}
	entry := t.find(path)
	switch {
	case entry != nil && entry.inline:
		return t.insertInline(entry, line)
	case entry != nil && entry.value == 0:
		lead := ""
		if entry.end > 0 && t.text[entry.end-1] != '\n' {
			lead = t.newline
		}
		return splice(t.text, entry.end, entry.end, lead+line+t.newline)
	}
	for _, item := range t.items { // keys with dots, or a table below the entry
		if !belongs(item.path, path) {
			continue
		}
		names := path
		if item.value > 0 {
			names = path[len(item.table):]
		} else {
			return splice(t.text, item.start, item.start, "["+dotted(path)+"]"+t.newline+line+t.newline+t.newline)
		}
		start, _ := t.lineOf(item.start)
		return splice(t.text, start, start, dotted(names)+"."+line+t.newline)
	}
	return t.text
}

func dotted(path []string) string {
	names := make([]string, len(path))
	for i, key := range path {
		names[i] = tomlKey(key)
	}
	return strings.Join(names, ".")
}

// insertInline adds a member at the beginning of an inline table.
func (t *tomlText) insertInline(item *tomlItem, member string) []byte {
	open := item.value + 1
	rest := bytes.TrimLeft(t.text[open:item.end], " \t\r\n")
	if len(rest) > 0 && rest[0] == '}' {
		return splice(t.text, open, item.end-1, " "+member+" ")
	}
	return splice(t.text, open, open, " "+member+",")
}

func (tomlFile) remove(text []byte, path []string) ([]byte, error) {
	t, err := openTOML(text)
	if err != nil {
		return nil, err
	}
	for i := len(t.items) - 1; i >= 0; i-- {
		item := t.items[i]
		switch {
		case !belongs(item.path, path):
		case item.value == 0:
			t.text = t.cutTable(i)
		case item.inside && !slices.ContainsFunc(t.items[:i],
			func(o tomlItem) bool { return o.inline && belongs(o.path, path) && o.end >= item.end }):
			t.text = cutInline(t.text, item.start, item.end)
		case !item.inside && !belongs(item.table, path):
			start, _ := t.lineOf(item.start)
			_, end := t.lineOf(item.end)
			t.text = splice(t.text, start, end, "")
		}
	}
	return t.text, nil
}

// cutTable takes out a table with its keys, and one blank line. What comes
// after its last key is not its own.
func (t *tomlText) cutTable(i int) []byte {
	start, end := t.items[i].start, t.items[i].end
	for _, item := range t.items[i+1:] {
		if item.value == 0 {
			break
		}
		_, end = t.lineOf(item.end)
	}
	before := bytes.TrimRight(t.text[:start], "\r\n")
	blank := start - len(before)
	switch {
	case !bytes.HasSuffix(t.text, []byte("\n")) && end == len(t.text):
		start = len(before)
	case len(bytes.TrimSpace(t.text[end:])) == 0 && len(before) > 0 && blank > len(t.newline):
		start -= len(t.newline)
	case len(before) == 0 || blank > len(t.newline):
		rest := t.text[end:]
		end += len(rest) - len(bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte("\r")), []byte("\n")))
	}
	return splice(t.text, start, end, "")
}

// cutInline takes a member out of an inline table, with one comma.
func cutInline(text []byte, start, end int) []byte {
	rest := bytes.TrimLeft(text[end:], " \t\r\n")
	if len(rest) > 0 && rest[0] == ',' {
		after := bytes.TrimLeft(rest[1:], " \t")
		return splice(text, start, len(text)-len(after), "")
	}
	before := bytes.TrimRight(text[:start], " \t\r\n")
	switch {
	case len(before) > 0 && before[len(before)-1] == ',':
		return splice(text, len(before)-1, end, "")
	case len(before) > 0 && before[len(before)-1] == '{' && len(rest) > 0 && rest[0] == '}':
		return splice(text, len(before), len(text)-len(rest), "")
	}
	return splice(text, start, end, "")
}

var bareKey = matching.Lazy(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey().MatchString(key) {
		return key
	}
	return quoteJSON(key)
}

// tomlValue writes a value. A JSON string is a TOML basic string.
func tomlValue(value any) string {
	if list, ok := value.([]string); ok {
		parts := make([]string, len(list))
		for i, s := range list {
			parts[i] = quoteTOML(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if s, ok := value.(string); ok {
		return quoteTOML(s)
	}
	return fmt.Sprint(value)
}

func quoteTOML(s string) string { return strings.ReplaceAll(quoteJSON(s), "\x7f", `\u007f`) }
