package webtext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/run/netguard/webtext"
)

func TestDecode(t *testing.T) {
	long := strings.Repeat("a", 5000)
	for _, c := range []struct {
		name, data, contentType string
		text, charset           string
	}{
		{"empty", "", "", "", "utf-8"},
		{"ASCII", "abc", "", "abc", "utf-8"},
		{"UTF-8", "äöü", "text/html", "äöü", "utf-8"},
		{"UTF-8 late in the document", long + "ä", "text/html", long + "ä", "utf-8"},
		{"UTF-8 with mark", "\xef\xbb\xbfä", "", "ä", "utf-8"},
		{"UTF-8 with invalid bytes", "a\xff\xfeb", "text/html; charset=utf-8", "a\uFFFDb", "utf-8"},
		{"header", "\xe4\xf6", "text/html; charset=ISO-8859-1", "äö", "windows-1252"},
		{"header quoted", "\xcf\xf0\xe8", `text/html; charset="windows-1251"`, "При", "windows-1251"},
		{"header beats meta", "<meta charset=utf-8>\xe4", "text/html; charset=latin1", "<meta charset=utf-8>ä",
			"windows-1252"},
		{"unknown header", "ä", "text/html; charset=klingon", "ä", "utf-8"},
		{"mark beats header", "\xef\xbb\xbfä", "text/html; charset=latin1", "ä", "utf-8"},
		{"UTF-16LE", "\xff\xfeh\x00i\x00\xac\x20", "text/plain", "hi€", "utf-16le"},
		{"UTF-16BE", "\xfe\xff\x00h\x00i\x20\xac", "text/plain", "hi€", "utf-16be"},
		{"meta charset", `<meta charset="shift_jis">` + "\x93\xfa\x96\x7b", "text/html", `<meta charset="shift_jis">日本`,
			"shift_jis"},
		{"meta http-equiv", `<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">` + "\xf0", "",
			`<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">П`, "koi8-r"},
		{"stored copy with its old meta", `<meta charset="shift_jis">日本`, "", `<meta charset="shift_jis">日本`, "utf-8"},
		{"7-bit encoding by meta", "<meta charset=iso-2022-jp>\x1b$BF|K\\\x1b(B", "", "<meta charset=iso-2022-jp>日本",
			"iso-2022-jp"},
		{"XML declaration", `<?xml version="1.0" encoding='iso-8859-2'?><a>` + "\xb1</a>", "text/xml",
			`<?xml version="1.0" encoding='iso-8859-2'?><a>ą</a>`, "iso-8859-2"},
		{"XML declaring what it is not", `<?xml version="1.0" encoding="utf-16"?><a/>`, "",
			`<?xml version="1.0" encoding="utf-16"?><a/>`, "utf-8"},
		{"nothing declared", "caf\xe9 \x80", "text/plain", "café €", "windows-1252"},
		{"nothing declared, late", long + "\xe9", "text/plain", long + "é", "windows-1252"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, charset := webtext.Decode([]byte(c.data), c.contentType)
			assert.Equal(t, c.text, text)
			assert.Equal(t, c.charset, charset)
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=big5>\xa4\xa4"), "text/html; charset=gbk")
	f.Fuzz(func(t *testing.T, data []byte, contentType string) {
		text, name := webtext.Decode(data, contentType)
		assert.True(t, utf8.ValidString(text))
		assert.NotEmpty(t, name)
	})
}
