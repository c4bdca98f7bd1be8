package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const notText = `is not Unicode text: it has bytes that are not UTF-8, or half of a surrogate pair such as \ud800. ` +
	"Write it in UTF-8; a file with such a name must be renamed first"

// Garbled returns a violation for each parameter with text that encoding/json would change without a word, so that
// another file is named.
func Garbled(raw json.RawMessage) (found []Violation) {
	if !garbled(raw) {
		return nil
	}
	var object map[string]json.RawMessage
	_ = json.Unmarshal(raw, &object)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if garbled(object[name]) {
			found = append(found, Violation{Path: name, Message: notText})
		}
	}
	if found == nil {
		return []Violation{{Message: "one of the parameters " + notText}}
	}
	return found
}

func garbled(raw []byte) bool {
	if !utf8.Valid(raw) {
		return true
	}
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 || at+1 == len(raw) {
			return false
		}
		if raw = raw[at:]; raw[1] != 'u' {
			raw = raw[2:]
			continue
		}
		r := escaped(raw)
		raw = raw[min(6, len(raw)):]
		if utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, escaped(raw)) == utf8.RuneError {
				return true
			}
			raw = raw[6:]
		}
	}
}

// escaped returns the code unit of a \u escape that raw begins with, 0 if it begins with none.
func escaped(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(unit)
}
