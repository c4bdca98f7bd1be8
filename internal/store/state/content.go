package state

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"unicode/utf8"
)

// maxFile bounds a file of the state, in bytes.
const maxFile = 64 << 20

// content is the values by source and key.
type content map[string]map[string][]byte

// stored is a value in a file: as JSON, as text, or else in base64, so that each is restored exactly.
type stored struct {
	JSON   json.RawMessage `json:"json,omitempty"`
	Text   *string         `json:"text,omitempty"`
	Base64 *string         `json:"base64,omitempty"`
}

func (c content) clone() content {
	if c == nil {
		return nil
	}
	copied := make(content, len(c))
	for source, values := range c {
		copied[source] = maps.Clone(values)
	}
	return copied
}

// format encodes the content as a file, indented, with sources and keys in order.
func (c content) format() []byte {
	all := make(map[string]map[string]stored, len(c))
	for source, values := range c {
		all[source] = make(map[string]stored, len(values))
		for key, value := range values {
			all[source][key] = storedOf(value)
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		panic(err) // maps, texts and valid JSON
	}
	return out.Bytes()
}

func storedOf(value []byte) stored {
	var compact bytes.Buffer
	switch {
	case json.Compact(&compact, value) == nil && bytes.Equal(compact.Bytes(), value) && utf8.Valid(value):
		return stored{JSON: value}
	case utf8.Valid(value) && !bytes.ContainsFunc(value, isControl):
		text := string(value)
		return stored{Text: &text}
	}
	text := base64.StdEncoding.EncodeToString(value)
	return stored{Base64: &text}
}

// isControl reports whether c is a character that texts do not contain and JSON would escape.
func isControl(c rune) bool { return c < ' ' && c != '\n' && c != '\t' && c != '\r' }

var errNoValue = errors.New("a value is neither json, text nor base64")

func parse(data []byte) (content, error) {
	var all map[string]map[string]stored
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	c := make(content, len(all))
	for source, values := range all {
		c[source] = make(map[string][]byte, len(values))
		for key, s := range values {
			value, err := s.value()
			if err != nil {
				return nil, err
			}
			c[source][key] = value
		}
	}
	return c, nil
}

func (s stored) value() ([]byte, error) {
	switch {
	case s.Text != nil:
		return []byte(*s.Text), nil
	case s.Base64 != nil:
		return base64.StdEncoding.AppendDecode([]byte{}, []byte(*s.Base64))
	case s.JSON != nil:
		var compact bytes.Buffer
		err := json.Compact(&compact, s.JSON)
		return compact.Bytes(), err
	}
	return nil, errNoValue
}
