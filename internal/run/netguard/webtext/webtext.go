// Package webtext converts web documents to UTF-8.
package webtext

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// Decode returns data as UTF-8 without byte order mark, and the name of its encoding. A byte order mark
// decides, then the charset parameter of contentType (which may be empty), then whether data is UTF-8 with
// characters beyond ASCII, then the document's own meta element or XML declaration, else it is windows-1252.
// Invalid bytes become U+FFFD.
//
// UTF-8 precedes the document's own declaration because a stored copy that was already decoded still carries
// the old one.
func Decode(data []byte, contentType string) (text, name string) {
	enc, name := find(data, contentType)
	if name == "utf-8" {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		return strings.ToValidUTF8(string(data), string(utf8.RuneError)), name
	}
	decoded, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return strings.ToValidUTF8(string(data), string(utf8.RuneError)), "utf-8"
	}
	return string(decoded), name
}

func find(data []byte, contentType string) (encoding.Encoding, string) {
	if enc, name := byMark(data); enc != nil {
		return enc, name
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if enc, name := charset.Lookup(params["charset"]); enc != nil {
			return enc, name
		}
	}
	if utf8.Valid(data) && !isASCII(data) {
		return unicode.UTF8, "utf-8"
	}
	if enc, name := byXML(data); enc != nil {
		return enc, name
	}
	// The library examines only the beginning of the document; without a declaration its answer is a guess, no
	// better than the default.
	enc, name, _ := charset.DetermineEncoding(data, "text/html")
	if name == "utf-8" || isASCII(data) && name == "windows-1252" {
		return unicode.UTF8, "utf-8"
	}
	return enc, name
}

// byMark detects a byte order mark. The decoders of UTF-16 drop it.
func byMark(data []byte) (encoding.Encoding, string) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return unicode.UTF8, "utf-8"
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "utf-16le"
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "utf-16be"
	}
	return nil, ""
}

// byXML reads the encoding of an XML declaration at the very beginning.
func byXML(data []byte) (encoding.Encoding, string) {
	if !bytes.HasPrefix(data, []byte("<?xml")) {
		return nil, ""
	}
	declaration, _, ok := bytes.Cut(data[:min(len(data), 256)], []byte("?>"))
	if !ok {
		return nil, ""
	}
	_, rest, _ := bytes.Cut(declaration, []byte("encoding"))
	rest = bytes.TrimLeft(rest, " \t\r\n=")
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return nil, ""
	}
	label, _, ok := bytes.Cut(rest[1:], rest[:1])
	if !ok {
		return nil, ""
	}
	enc, name := charset.Lookup(string(label))
	if strings.HasPrefix(name, "utf-16") {
		return unicode.UTF8, "utf-8" // a UTF-16 document could not be read as ASCII
	}
	return enc, name
}

func isASCII(data []byte) bool {
	for _, b := range data {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
