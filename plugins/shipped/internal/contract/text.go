package contract

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// Decoded gives a file whose beginning was read already, the whole of it: as
// UTF-8 where it is UTF-16, else as it is.
func Decoded(head []byte, rest io.Reader) io.Reader {
	whole := io.MultiReader(bytes.NewReader(head), rest)
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(whole)
	}
	return whole
}

// Shown gives text in which bytes that are not UTF-8 are taken as Latin-1, so
// that they can be seen, and given back to be replaced.
func Shown(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			r = rune(text[0])
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}
