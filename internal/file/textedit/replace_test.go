package textedit

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

func encode16(s string, order binary.AppendByteOrder) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestReplace(t *testing.T) {
	const nfc, nfd = "caf\u00e9", "cafe\u0301"
	once, all := ReplaceOptions{}, ReplaceOptions{Which: All}
	le, be := binary.LittleEndian, binary.BigEndian
	for name, c := range map[string]struct {
		data, old, new string
		opts           ReplaceOptions
		want           string
	}{
		"once":                             {"a b c", "b", "B", once, "a B c"},
		"exactly two":                      {"a b b", "b", "B", ReplaceOptions{N: 2}, "a B B"},
		"first":                            {"b b b", "b", "B", ReplaceOptions{Which: First}, "B b b"},
		"all":                              {"b b b", "b", "", all, "  "},
		"second":                           {"b b b", "b", "B", ReplaceOptions{Which: Nth, N: 2}, "b B b"},
		"occurrences do not overlap":       {"aaaaa", "aa", "b", all, "bba"},
		"no template":                      {"x", "x", `$1 $& \1 ${x} %s`, once, `$1 $& \1 ${x} %s`},
		"pattern characters are plain":     {"a.*b (x", ".*b (", "!", once, "a!x"},
		"no final newline stays so":        {"a\nb", "a", "A", once, "A\nb"},
		"final newline stays":              {"a\nb\n", "b", "B", once, "a\nB\n"},
		"CRLF kept by LF text":             {"a\r\nb\r\nc\r\n", "a\nb\n", "A\nx\nb\n", once, "A\r\nx\r\nb\r\nc\r\n"},
		"LF kept by CRLF text":             {"a\nb\nc\n", "a\r\nb\r\n", "A\r\nx\r\nb\r\n", once, "A\nx\nb\nc\n"},
		"new lines in a CRLF line":         {"a\r\nb\r\n", "b", "x\ny", once, "a\r\nx\r\ny\r\n"},
		"new lines in the last CRLF line":  {"a\r\nb", "b", "x\ny", once, "a\r\nx\r\ny"},
		"new lines in a file of one line":  {"b", "b", "x\r\ny", once, "x\r\ny"},
		"a literal match in a CRLF file":   {"a\r\nb\r\n", "a\r\n", "a\nx\n", once, "a\r\nx\r\nb\r\n"},
		"a literal match in an LF file":    {"a\nb\n", "a\nb", "a\r\nx\r\nb", once, "a\nx\nb\n"},
		"literal CRLF beside LF":           {"a\r\nb\n", "a\r\nb\n", "a\r\nx\nb\n", once, "a\r\nx\nb\n"},
		"a match within CRLF takes it all": {"a\r\nb\r\n", "\nb", "", once, "a\r\n"},
		"a match within CRLF grows":        {"a\r\nb\r\n", "\nb", "\nx\nb", once, "a\r\nx\r\nb\r\n"},
		"joining CRLF lines":               {"a\r\nb\r\nc", "\n", " ", all, "a b c"},
		"mixed keeps what is the same": {"a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "a\nb\nX\nd\n", once,
			"a\r\nb\nX\r\nd\n"},
		"mixed, region decides": {"1\n2\n3\r\n4\r\n", "3\n4\n", "3a\n4a\n5a\n", once,
			"1\n2\n3a\r\n4a\r\n5a\r\n"},
		"mixed, lines added behind":         {"1\n2\r\n3\n", "2\n", "2\n2b\n", once, "1\n2\r\n2b\r\n3\n"},
		"mixed, lines added before":         {"1\n2\r\n3\n", "2\n", "1b\n2\n", once, "1\n1b\r\n2\r\n3\n"},
		"mixed, nearest line decides":       {"1\n2\r\n3\n", "2", "2\n2b", once, "1\n2\r\n2b\r\n3\n"},
		"mixed, lines keep theirs in turn":  {"1\r\n2\n3\r\n", "1\n2\n3\n", "x\ny\nz\n", once, "x\r\ny\nz\r\n"},
		"lone CR is no ending among LF":     {"a\rb\n", "a\rb", "c", once, "c\n"},
		"old Mac endings":                   {"a\rb\rc\r", "a\nb\n", "a\nx\nb\n", once, "a\rx\rb\rc\r"},
		"old Mac endings, no ending in old": {"a\rb\rc\r", "b", "b\nx", once, "a\rb\rx\rc\r"},
		"literal before folded":             {"x\ny\nx\r\ny\r\n", "x\ny\n", "Z\n", once, "Z\nx\r\ny\r\n"},
		"UTF-8 mark stays":                  {utf8BOM + "a\n", "a", "b", once, utf8BOM + "b\n"},
		"UTF-8 mark in old stays":           {utf8BOM + "a\n", utf8BOM + "a", "b", once, utf8BOM + "b\n"},
		"UTF-8 mark in both": {utf8BOM + "a\na\n", utf8BOM + "a", utf8BOM + "b", once,
			utf8BOM + "b\na\n"},
		"NFD stays NFD": {nfd + " " + nfc + " x", "x", nfd + nfc, once,
			nfd + " " + nfc + " " + nfd + nfc},
		"NFD and NFC are different": {nfd + " " + nfc, nfd, "x", once, "x " + nfc},
		"NFC is not found in NFD":   {nfd + " " + nfc, nfc, "x", once, nfd + " x"},
		"UTF-16LE": {encode16("héllo 😀\r\nwörld\r\n", le), "wörld", "😀\n€", once,
			encode16("héllo 😀\r\n😀\r\n€\r\n", le)},
		"UTF-16BE": {encode16("héllo 😀\nwörld\n", be), "😀", "𝄞é", once,
			encode16("héllo 𝄞é\nwörld\n", be)},
		"UTF-16 lone surrogates and a byte": {encode16("a", le) + "\x00\xd8b\x00\x00\xdcz", "b", "c", once,
			encode16("a", le) + "\x00\xd8c\x00\x00\xdcz"},
		"Latin-1 bytes stay":            {"caf\xe9 \xff old\n", "old", "new", once, "caf\xe9 \xff new\n"},
		"Latin-1 text is found":         {"caf\xe9 \xfcber\n", "über", "ÜBER ß", once, "caf\xe9 \xdcBER \xdf\n"},
		"mixed bytes take UTF-8":        {"caf\xe9 grün x\n", "x", "“x”", once, "caf\xe9 grün “x”\n"},
		"Latin-1 takes Latin-1":         {"caf\xe9\r\nx\r\n", "x", "é\nè", once, "caf\xe9\r\n\xe9\r\n\xe8\r\n"},
		"UTF-8 with a broken byte":      {"café \xff x\n", "x", "é", once, "café \xff é\n"},
		"invalid bytes in UTF-8 beside": {"ä\xff\xfeb old", "old", "new", once, "ä\xff\xfeb new"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Replace([]byte(c.data), c.old, c.new, c.opts)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(r.Data))
		})
	}
}

func TestReplaceTellsCountAndLines(t *testing.T) {
	r, err := Replace([]byte("a\r\nb a\r\n\r\na"), "a", "x", ReplaceOptions{Which: All})
	require.NoError(t, err)
	assert.Equal(t, 3, r.Count)
	assert.Equal(t, []int{1, 2, 4}, r.Lines)
	r, err = Replace([]byte("a\na\na\n"), "a", "x", ReplaceOptions{Which: Nth, N: 3})
	require.NoError(t, err)
	assert.Equal(t, []int{3}, r.Lines)
	assert.Equal(t, 1, r.Count)
	assert.Equal(t, 3, r.Total)
}

func TestReplaceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data, old, new string
		opts           ReplaceOptions
		code           tool.Code
		text           string
	}{
		"empty old":        {"a", "", "b", ReplaceOptions{}, tool.InvalidArgument, "empty"},
		"same":             {"a", "a", "a", ReplaceOptions{}, tool.NoChange, "same"},
		"same but endings": {"a\r\n", "a\n", "a\r\n", ReplaceOptions{}, tool.NoChange, "line endings"},
		"missing":          {"a", "b", "c", ReplaceOptions{}, tool.NoMatch, "does not occur"},
		"empty file":       {"", "b", "c", ReplaceOptions{Which: All}, tool.NoMatch, "does not occur"},
		"missing, first":   {"a", "b", "c", ReplaceOptions{Which: First}, tool.NoMatch, "does not occur"},
		"twice": {"b\nb\n", "b", "c", ReplaceOptions{}, tool.NotUnique,
			"expected 1 occurrence but found 2, at lines 1 and 2"},
		"too few": {"b\nb\n", "b", "c", ReplaceOptions{N: 3}, tool.NotUnique,
			"expected 3 occurrences but found 2"},
		"no such one":       {"b\nb\n", "b", "c", ReplaceOptions{Which: Nth, N: 3}, tool.NotUnique, "no occurrence 3"},
		"binary":            {"a\x00b", "a", "b", ReplaceOptions{}, tool.BinaryFile, "binary"},
		"UTF-32":            {"\xff\xfe\x00\x00a\x00\x00\x00", "a", "b", ReplaceOptions{}, tool.BinaryFile, "binary"},
		"not in Latin-1":    {"caf\xe9", "café", "€", ReplaceOptions{}, tool.Unsupported, "Latin-1"},
		"nor beside it":     {"caf\xe9 x", "x", "“x”", ReplaceOptions{}, tool.Unsupported, "Latin-1"},
		"mark not at start": {utf8BOM + "a\nb\n", utf8BOM + "b", "c", ReplaceOptions{}, tool.NoMatch, "does not occur"},
		"NFC in NFD":        {"cafe\u0301", "caf\u00e9", "x", ReplaceOptions{}, tool.NoMatch, `caf` + `e\u{301}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Replace([]byte(c.data), c.old, c.new, c.opts)
			require.Error(t, err)
			assert.Equal(t, c.code, tool.CodeOf(err))
			assert.Contains(t, err.Error(), c.text)
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		})
	}
}

func TestReplaceLeavesTheTextAloneOnAnError(t *testing.T) {
	text := FromString("a\nb\nb\n")
	_, err := text.Replace("b", "c", ReplaceOptions{})
	var m *MatchError
	require.ErrorAs(t, err, &m)
	assert.Equal(t, []int{2, 3}, m.Lines)
	assert.Equal(t, 2, m.Count)
	assert.Equal(t, "a\nb\nb\n", string(text.Encode()))
}

func TestDecodeTellsEncoding(t *testing.T) {
	for data, want := range map[string]struct {
		enc Encoding
		bom bool
		is  string
	}{
		"":                 {UTF8, false, ""},
		"aé":               {UTF8, false, "aé"},
		utf8BOM + "a":      {UTF8, true, "a"},
		"a\xe9":            {Bytes, false, "a\xe9"},
		"\xff\xfea\x00":    {UTF16LE, true, "a"},
		"\xfe\xff\x00a":    {UTF16BE, true, "a"},
		"\xfe\xff":         {UTF16BE, true, ""},
		"\xfe\xff\x00\x00": {UTF16BE, true, "\x00"},
	} {
		text, err := Decode([]byte(data))
		require.NoError(t, err, "%q", data)
		assert.Equal(t, want.enc, text.Encoding(), "%q", data)
		assert.Equal(t, want.bom, text.bom, "%q", data)
		assert.Equal(t, want.is, text.String(), "%q", data)
		assert.Equal(t, data, string(text.Encode()))
	}
}

func TestNULBehindTheSniffedPartIsText(t *testing.T) {
	data := strings.Repeat("x", sniffed) + "\x00old"
	r, err := Replace([]byte(data), "old", "new", ReplaceOptions{})
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("x", sniffed)+"\x00new", string(r.Data))
}

func TestAtLinesCutsLongLists(t *testing.T) {
	assert.Equal(t, "line 7", AtLines([]int{7}))
	assert.Equal(t, "lines 1, 2 and 3", AtLines([]int{1, 1, 2, 2, 3}))
	assert.Contains(t, AtLines([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22}),
		"20 and 2 more")
}

// FuzzReplace compares with the standard library if no line ending and no byte
// order mark is involved, and checks that all other bytes stay.
func FuzzReplace(f *testing.F) {
	f.Add([]byte("a\r\nb\nc\r\n"), "b\nc", "x\ny\nz", true)
	f.Add([]byte("\xff\xfea\x00b\x00\x00\xd8"), "b", "€", false)
	f.Add([]byte("caf\xe9\r\n"), "é\n", "è\n\n", true)
	f.Add([]byte("\r\r\n\n\r"), "\n", "\r\n", true)
	f.Add([]byte("\r\n\r\n"), "\n\r", "x", true)
	f.Add([]byte(utf8BOM+"a"), utf8BOM+"a", "b", true)
	f.Fuzz(func(t *testing.T, data []byte, old, new string, all bool) {
		opts := ReplaceOptions{Which: First}
		if all {
			opts.Which = All
		}
		before := string(data)
		r, err := Replace(data, old, new, opts)
		require.Equal(t, before, string(data), "the input was changed")
		if err != nil {
			require.NotEmpty(t, tool.AsError(err).Suggestion)
			return
		}
		require.NotEqual(t, before, string(r.Data))
		require.Len(t, r.Lines, r.Count)
		text, err := Decode(data)
		require.NoError(t, err)
		require.Equal(t, before, string(text.Encode()))
		if text.Encoding() == UTF8 && !text.bom && !strings.ContainsAny(old+new, "\r\n") {
			n := 1
			if all {
				n = -1
			}
			require.Equal(t, strings.Replace(before, old, new, n), string(r.Data))
		}
	})
}

func TestInsert(t *testing.T) {
	le := binary.LittleEndian
	for name, c := range map[string]struct {
		data string
		line int
		text string
		want string
	}{
		"an empty file":                   {"", 0, "x\r\ny", "x\r\ny\n"},
		"at the start":                    {"a\nb\n", 0, "x", "x\na\nb\n"},
		"in the middle":                   {"a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"},
		"at the end":                      {"a\nb\n", 2, "x\n", "a\nb\nx\n"},
		"after a line without an ending":  {"a\nb", 2, "x", "a\nb\nx\n"},
		"an empty line":                   {"a\nb", 2, "", "a\nb\n\n"},
		"CRLF":                            {"a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"},
		"CRLF at the end without one":     {"a\r\nb", 2, "x", "a\r\nb\r\nx\r\n"},
		"mixed, the line after decides":   {"a\nb\r\nc\n", 1, "x", "a\nx\r\nb\r\nc\n"},
		"old Mac endings":                 {"a\rb\r", 1, "x", "a\rx\rb\r"},
		"a UTF-8 mark stays in front":     {utf8BOM + "a\n", 0, "x", utf8BOM + "x\na\n"},
		"UTF-16":                          {encode16("a\r\nb", le), 1, "é", encode16("a\r\né\r\nb", le)},
		"Latin-1":                         {"caf\xe9\n", 1, "ü", "caf\xe9\n\xfc\n"},
		"Latin-1 without room for a sign": {"caf\xe9\n", 1, "€", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Decode([]byte(c.data))
			require.NoError(t, err)
			err = text.Insert(c.line, c.text)
			if c.want == "" {
				assert.Equal(t, tool.Unsupported, tool.CodeOf(err))
				c.want = c.data
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, c.want, string(text.Encode()))
		})
	}
}
