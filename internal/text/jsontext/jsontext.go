// Package jsontext formats JSON values for people.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// Compact formats a value on one line; other text is unchanged.
func Compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// Indented formats a value over several lines; other text is unchanged.
func Indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
