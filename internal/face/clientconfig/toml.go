package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// tomlFile is TOML. An entry is a table of toolhost's own, appended to the file, and changed or removed
// only while it reads as toolhost writes it.
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

// tomlKeys are the keys that toolhost writes, in order.
var tomlKeys = [...]string{"command", "args", "env_vars"}

// tomlBlock returns an entry without its last line end.
func tomlBlock(path []string, values map[string]any, newline string) string {
	names := make([]string, len(path))
	for i, key := range path {
		names[i] = tomlKey(key)
	}
	lines := []string{"[" + strings.Join(names, ".") + "]"}
	for _, key := range tomlKeys {
		if value, ok := values[key]; ok {
			lines = append(lines, key+" = "+tomlValue(value))
		}
	}
	return strings.Join(lines, newline)
}

// find returns the place of the entry's block and its values; exists is false if there is none.
func (f tomlFile) find(text []byte, path []string) (start int, block string,
	values map[string]any, exists bool, err error) {
	data, err := f.decode(text)
	if err != nil {
		return 0, "", nil, false, err
	}
	entry, exists := at(data, path)
	if !exists {
		return 0, "", nil, false, nil
	}
	values, _ = entry.(map[string]any)
	block = tomlBlock(path, values, lineEnd(text))
	start = bytes.Index(text, []byte(block))
	if start < 0 || start > 0 && text[start-1] != '\n' {
		return 0, "", nil, true, errors.New("the entry is not as toolhost wrote it")
	}
	if end, _, _ := bytes.Cut(text[start+len(block):], []byte("\n")); len(bytes.TrimSpace(end)) > 0 {
		return 0, "", nil, true, errors.New("the entry is not as toolhost wrote it")
	}
	return start, block, values, true, nil
}

func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func (f tomlFile) set(text []byte, path []string, fields []field) ([]byte, error) {
	start, block, values, exists, err := f.find(text, path)
	if err != nil {
		return nil, err
	}
	if values == nil {
		values = make(map[string]any)
	}
	for _, field := range fields {
		values[field.key] = field.value
	}
	newline := lineEnd(text)
	now := tomlBlock(path, values, newline)
	switch {
	case exists:
		text = splice(text, start, start+len(block), now)
	case len(text) == 0:
		text = []byte(now + newline)
	case bytes.HasSuffix(text, []byte("\n")):
		text = append(bytes.Clone(text), newline+now+newline...)
	default:
		text = append(bytes.Clone(text), newline+newline+now...)
	}
	if _, err := f.decode(text); err != nil {
		return nil, fmt.Errorf("a table cannot be added to it: %w", err)
	}
	return text, nil
}

// remove removes the block, lines added to its table, and the blank line before, or after, it.
func (f tomlFile) remove(text []byte, path []string) ([]byte, error) {
	start, block, _, _, err := f.find(text, path)
	if err != nil {
		return nil, err
	}
	newline := lineEnd(text)
	before, after := string(text[:start]), strings.TrimPrefix(string(text[start+len(block):]), newline)
	for { // with settings that others added to the table
		line, rest, _ := strings.Cut(after, "\n")
		if line = strings.TrimSpace(line); line == "" || line[0] == '[' || line[0] == '#' {
			break
		}
		after = rest
	}
	for line := range strings.Lines(after) { // a setting further below would move to the table before
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if line[0] != '[' {
				return nil, errHoldsMore
			}
			break
		}
	}
	switch {
	case after == "" && !bytes.HasSuffix(text, []byte("\n")):
		before = strings.TrimSuffix(strings.TrimSuffix(before, newline), newline)
	case after == "" && strings.HasSuffix(before, newline+newline):
		before = strings.TrimSuffix(before, newline)
	case before == "" || strings.HasSuffix(before, newline+newline):
		after = strings.TrimPrefix(after, newline)
	}
	text = []byte(before + after)
	if data, err := f.decode(text); err != nil || has(data, path) {
		return nil, errHoldsMore
	}
	return text, nil
}

// errHoldsMore is the error for an entry with more than lines added to its table.
var errHoldsMore = errors.New("the entry holds more than toolhost wrote")

func has(data any, path []string) bool {
	_, found := at(data, path)
	return found
}

var bareKey = regexlimit.Lazy(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey().MatchString(key) {
		return key
	}
	return quoteJSON(key)
}

// tomlValue returns a string or list of strings as TOML. A JSON string is a TOML basic string.
func tomlValue(value any) string {
	var parts []string
	switch value := value.(type) {
	case []string:
		for _, s := range value {
			parts = append(parts, quoteTOML(s))
		}
	case []any:
		for _, item := range value {
			parts = append(parts, quoteTOML(fmt.Sprint(item)))
		}
	default:
		return quoteTOML(fmt.Sprint(value))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func quoteTOML(s string) string { return strings.ReplaceAll(quoteJSON(s), "\x7f", `\u007f`) }
