package lines

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// sniffed is how much of a file decides its encoding, in bytes.
const sniffed = 8 << 10

// Open returns the start of a file, to recognize text, and the whole: UTF-16 as UTF-8, else unchanged.
func Open(file io.Reader) (head []byte, whole io.Reader, err error) {
	head = make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	head = head[:n]
	whole = io.MultiReader(bytes.NewReader(head), file)
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		whole = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(whole)
	}
	return head, whole, nil
}

// Shown converts bytes that are not UTF-8 as if Latin-1, so that they can be seen, and sent back to be replaced.
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
