package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
)

const byteOrderMark = "\xef\xbb\xbf"

// ReadJSON reads one JSON text. The error, an invalid_argument, has line and column; duplicate keys are an
// error.
func ReadJSON(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if err := checkUTF8(JSON, text); err != nil {
		return nil, err
	}
	if err := checkJSON(text); err != nil {
		return nil, err
	}
	r := jsonReader{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	return r.value(0)
}

func checkUTF8(format Format, text []byte) error {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return broken(format, placeAt(text, at), fmt.Sprintf("byte 0x%02x is not UTF-8", text[at]),
				"Convert the text to UTF-8.")
		}
		at += size
	}
	return nil
}

// checkJSON checks the syntax, with more exact positions than the reader after it.
func checkJSON(text []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(text, &raw)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	offset := int(syntax.Offset) - 1
	if len(bytes.TrimSpace(text)) == 0 {
		return broken(JSON, Place{1, 1}, "there is nothing", "Give a JSON text.")
	}
	what := syntax.Error()
	if strings.Contains(what, "unexpected end") {
		offset, what = len(text), "the text ends too early"
	}
	return broken(JSON, placeAt(text, offset), what,
		"Fix the text at this place; a comma, quote or bracket may be missing or too many just before it.")
}

type jsonReader struct {
	text []byte
	dec  *json.Decoder
}

func (r *jsonReader) here() Place { return r.placeFrom(int(r.dec.InputOffset())) }

// placeFrom returns the position of what follows an offset, past blanks and punctuation. It
// scans all text before, so it is for errors only.
func (r *jsonReader) placeFrom(at int) Place {
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	return placeAt(r.text, at)
}

func (r *jsonReader) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, tooDeep(JSON, r.here())
	}
	token, err := r.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, broken(JSON, r.here(), "the text ends too early", "Complete the text.")
	}
	if err != nil {
		return nil, broken(JSON, r.here(), err.Error(), "Fix the text at this place.")
	}
	switch token := token.(type) {
	case json.Number:
		return Number(token), nil
	case json.Delim:
		if token == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	}
	return token, nil // nil, a bool or a string
}

func (r *jsonReader) array(depth int) (any, error) {
	list := []any{}
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.dec.Token()
	return list, err
}

func (r *jsonReader) object(depth int) (any, error) {
	o := &Object{}
	for r.dec.More() {
		at := int(r.dec.InputOffset())
		key, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if _, twice := o.Get(name); twice {
			return nil, duplicate(JSON, r.placeFrom(at), name)
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o.Set(name, v)
	}
	_, err := r.dec.Token()
	return o, err
}

func duplicate(format Format, at Place, key string) *tool.Error {
	return broken(format, at, fmt.Sprintf("the key %q occurs a second time", key), "Remove or rename one of the two.").
		With("key", key)
}

func tooDeep(format Format, at Place) *tool.Error {
	return broken(format, at, fmt.Sprintf("values are nested more than %d deep", MaxDepth), "Nest less deep.")
}
