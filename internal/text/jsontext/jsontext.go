// Package jsontext writes JSON values for people.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// Compact is a value on one line, or as it is where it is none.
func Compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// Indented is a value over several lines, or as it is where it is none.
func Indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
