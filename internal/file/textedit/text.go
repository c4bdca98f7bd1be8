package textedit

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
)

// Encoding is a file's encoding.
type Encoding int

// The recognized encodings.
const (
	// UTF8 is UTF-8, with or without a byte order mark.
	UTF8 Encoding = iota
	// UTF16LE and UTF16BE are UTF-16 with a byte order mark.
	UTF16LE
	UTF16BE
	// Bytes is other text, such as Latin-1. Its bytes are kept.
	Bytes
)

// String names the encoding.
func (e Encoding) String() string {
	return [...]string{"UTF-8", "UTF-16LE", "UTF-16BE", "8-bit"}[e]
}

const (
	utf8BOM    = "\xef\xbb\xbf"
	utf16leBOM = "\xff\xfe"
	utf16beBOM = "\xfe\xff"

	// sniffed is how much of a file decides whether it is binary, in bytes.
	sniffed = 8 << 10
)

// Text is a file's text for editing. It is not safe for concurrent use.
type Text struct {
	enc Encoding
	bom bool
	// body is the text without its byte order mark: UTF-8 for UTF8, WTF-8 (which also holds lone surrogates) for
	// UTF-16, any bytes otherwise.
	body []byte
	// tail is the odd last byte of a broken UTF-16 file.
	tail []byte
	// ends caches endings; nil means not computed.
	ends *endings
	// near caches endingNear: lines can be long, with many calls for one.
	near nearEnding
}

// Decode decodes the bytes of a file. The error is a *tool.Error of code binary_file if there is a NUL in the first
// 8 KiB of anything but UTF-16 with a byte order mark. Later edits do not change data.
func Decode(data []byte) (*Text, error) {
	switch {
	case bytes.HasPrefix(data, []byte(utf16leBOM+"\x00\x00")): // UTF-32, or not text
	case bytes.HasPrefix(data, []byte(utf16leBOM)):
		return decode16(data, UTF16LE, binary.LittleEndian), nil
	case bytes.HasPrefix(data, []byte(utf16beBOM)):
		return decode16(data, UTF16BE, binary.BigEndian), nil
	}
	if IsBinary(data) {
		return nil, tool.Errorf(tool.BinaryFile, "the file is binary: it has a NUL byte in its first 8 KiB").
			Suggest("Only text files can be edited. Change the file with a program that knows its format.")
	}
	return FromString(string(data)), nil
}

// FromString returns a Text of s as it is: UTF-8 with or without a byte order mark, or any other bytes,
// including NULs.
func FromString(s string) *Text {
	t := &Text{body: []byte(s)}
	if bytes.HasPrefix(t.body, []byte(utf8BOM)) {
		t.bom, t.body = true, t.body[len(utf8BOM):]
	}
	if !utf8.Valid(t.body) {
		t.enc = Bytes
	}
	return t
}

// IsBinary reports whether data has a NUL in its first 8 KiB and is not UTF-16 with a byte order mark.
func IsBinary(data []byte) bool {
	if bytes.HasPrefix(data, []byte(utf16beBOM)) ||
		bytes.HasPrefix(data, []byte(utf16leBOM)) && !bytes.HasPrefix(data, []byte(utf16leBOM+"\x00\x00")) {
		return false
	}
	return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0
}

// Encoding returns the file's encoding.
func (t *Text) Encoding() Encoding { return t.enc }

// String returns the text without its byte order mark, as UTF-8 if the file is UTF-8 or UTF-16, else as its bytes.
func (t *Text) String() string { return string(t.body) }

// SetString replaces the text, without its byte order mark. s is as String gives it.
func (t *Text) SetString(s string) { t.setBody([]byte(s)) }

// Lines returns the lines of String and the ending of each, which the last may lack. A lone "\r" is an ending if the
// text has no other.
func (t *Text) Lines() (lines, endings []string) {
	text, end := t.String(), lf
	if !strings.Contains(text, lf) {
		end = cr
	}
	for text != "" {
		line, rest, found := strings.Cut(text, end)
		ending := ""
		if found {
			ending = end
		}
		if bare, ok := strings.CutSuffix(line, cr); ok && ending == lf {
			line, ending = bare, crlf
		}
		lines, endings, text = append(lines, line), append(endings, ending), rest
	}
	return lines, endings
}

// Encode returns the bytes of the file with the edits so far.
func (t *Text) Encode() []byte {
	switch t.enc {
	case UTF16LE:
		return t.encode16(binary.LittleEndian)
	case UTF16BE:
		return t.encode16(binary.BigEndian)
	}
	if !t.bom {
		return bytes.Clone(t.body)
	}
	return append([]byte(utf8BOM), t.body...)
}

func (t *Text) setBody(body []byte) {
	t.body, t.ends, t.near = body, nil, nearEnding{}
}

func decode16(data []byte, enc Encoding, order binary.ByteOrder) *Text {
	data = data[2:]
	t := &Text{enc: enc, bom: true, body: make([]byte, 0, len(data))}
	for len(data) >= 2 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) && len(data) >= 2 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(data))); pair != utf8.RuneError {
				r, data = pair, data[2:]
			}
		}
		t.body = appendWTF8(t.body, r)
	}
	t.tail = bytes.Clone(data)
	return t
}

// appendWTF8 appends r; unlike utf8.AppendRune it keeps lone surrogates.
func appendWTF8(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(b, r)
}

// decodeWTF8 decodes the first rune of b; unlike utf8.DecodeRune it accepts lone surrogates.
func decodeWTF8(b []byte) (rune, int) {
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size == 1 && len(b) >= 3 && b[0] == 0xed && b[1]&0xe0 == 0xa0 && b[2]&0xc0 == 0x80 {
		return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f), 3
	}
	return r, size
}

func (t *Text) encode16(order binary.AppendByteOrder) []byte {
	out := make([]byte, 0, 2*len(t.body)+4)
	if t.bom {
		out = order.AppendUint16(out, 0xfeff)
	}
	for b := t.body; len(b) > 0; {
		r, size := decodeWTF8(b)
		b = b[size:]
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = order.AppendUint16(out, uint16(hi))
			out = order.AppendUint16(out, uint16(lo))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return append(out, t.tail...)
}
