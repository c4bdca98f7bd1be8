package show_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/bidi"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// ignorable are the characters drawn as nothing (Unicode 15, derived property
// Default_Ignorable_Code_Point).
var ignorable = [][2]rune{
	{0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
	{0x200b, 0x200f}, {0x202a, 0x202e},
	{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfff8},
	{0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
}

// deceives returns what is wrong with showing a character unchanged, or "".
func deceives(r rune, line bool) string {
	for _, span := range ignorable {
		if r >= span[0] && r <= span[1] {
			return "it is drawn as nothing"
		}
	}
	switch {
	case r == '\n' || r == '\t':
		if line {
			return "it leaves the line"
		}
		return ""
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		return "it controls"
	case unicode.In(r, unicode.Zl, unicode.Zp), unicode.Is(unicode.Zs, r) && r != ' ', r == 0x2800:
		return "it passes for a space or a line's end"
	case !unicode.IsGraphic(r) || unicode.In(r, unicode.Co, unicode.Cs):
		return "nobody knows how it looks"
	case unicode.Is(unicode.Me, r), r >= 0x334 && r <= 0x338:
		return "it is drawn over another"
	}
	properties, _ := bidi.LookupRune(r)
	switch properties.Class() {
	case bidi.LRO, bidi.RLO, bidi.LRE, bidi.RLE, bidi.PDF, bidi.LRI, bidi.RLI, bidi.FSI, bidi.PDI:
		return "it turns text around"
	case bidi.R, bidi.AL, bidi.AN:
		if line {
			return "it is written from right to left"
		}
	}
	return ""
}

// check checks that nothing shown deceives.
func check(t *testing.T, from, shown string, line bool) {
	t.Helper()
	if !utf8.ValidString(shown) {
		t.Errorf("%q is shown as %q, which is no UTF-8", from, shown)
	}
	marks := 0
	for _, r := range shown {
		if why := deceives(r, line); why != "" {
			t.Errorf("%q is shown as %q: %U: %s", from, shown, r, why)
		}
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		if marks > 3 {
			t.Errorf("%q is shown as %q, with a heap of marks", from, shown)
		}
	}
}

func TestEveryCharacter(t *testing.T) {
	testneed.NotShort(t, "tries every character")
	for r := rune(0); r <= unicode.MaxRune; r++ {
		places := []string{"X", "aXb", "aXXXXXb", "хXж", "אX", "1X 2"}
		switch {
		case !unicode.IsGraphic(r):
			places = places[:1]
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Tangut, unicode.Egyptian_Hieroglyphs):
			places = places[:2] // marks and ASCII lookalikes depend on their neighbours
		}
		for _, around := range places {
			text := strings.ReplaceAll(around, "X", string(r))
			check(t, text, show.Text(text), false)
			check(t, text, show.Line(text), true)
			check(t, text, show.Word(text), true)
			check(t, text, show.Page.Word(text), false)
			if t.Failed() {
				return
			}
		}
	}
}

func TestWhatIsSeen(t *testing.T) {
	for name, tt := range map[string]struct{ text, line, whole string }{
		"ASCII":                    {"go test ./... -run 'A|B'", "", ""},
		"nothing":                  {"", "", ""},
		"prose":                    {"Größe, naïve, Ελλάδα, привет, 日本語の名前, 한국어, ไทย, हिन्दी", "", ""},
		"an emoji":                 {"done 🎉", "", ""},
		"typographic punctuation":  {"don’t – “x” …", `don\u2019t \u2013 \u201cx\u201d \u2026`, "don’t – “x” …"},
		"Turkish":                  {"kapalı", `kapal\u0131`, "kapalı"},
		"an escape":                {"a\x1b[2Kb", `a\x1b[2Kb`, `a\x1b[2Kb`},
		"a C1 control":             {"a\u009bb", `a\u009bb`, `a\u009bb`},
		"lines":                    {"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		"a carriage return":        {"a\rb", `a\rb`, `a\rb`},
		"an override":              {"a\u202eb", `a\u202eb`, `a\u202eb`},
		"no width":                 {"a\u200bb\u2060c\ufeff", `a\u200bb\u2060c\ufeff`, `a\u200bb\u2060c\ufeff`},
		"tags":                     {"a\U000e0041", `a\U000e0041`, `a\U000e0041`},
		"a hard space":             {"a\u00a0b", `a\u00a0b`, `a\u00a0b`},
		"a Hangul filler":          {"a\u3164b", `a\u3164b`, `a\u3164b`},
		"a blank Braille":          {"a\u2800b", `a\u2800b`, `a\u2800b`},
		"a line separator":         {"a\u2028b", `a\u2028b`, `a\u2028b`},
		"Cyrillic in a Latin word": {"p\u0430ypal", `p\u0430ypal`, `p\u0430ypal`},
		"Latin alone, in Cyrillic": {"\u0441\u043e\u0440\u0443 x", `\u0441\u043e\u0440\u0443 x`,
			`\u0441\u043e\u0440\u0443 x`},
		"wide letters":                {"ｒｍ -rf", `\uff52\uff4d -rf`, `\uff52\uff4d -rf`},
		"mathematical letters":        {"𝐫𝐦", `\U0001d42b\U0001d426`, `\U0001d42b\U0001d426`},
		"a wide semicolon":            {"a； b", `a\uff1b b`, "a； b"},
		"a Greek question mark":       {"a\u037e b", `a\u037e b`, `a\u037e b`},
		"a division slash":            {"etc∕passwd", `etc\u2215passwd`, `etc\u2215passwd`},
		"an accent that stands alone": {"\u0301a", `\u0301a`, `\u0301a`},
		"an accent on its letter":     {"cafe\u0301", `cafe\u0301`, "cafe\u0301"},
		"a heap of accents": {"a\u0301\u0301\u0301\u0301\u0301", `a\u0301\u0301\u0301\u0301\u0301`,
			"a\u0301\u0301\u0301" + `\u0301\u0301`},
		"an overlay":                   {"a\u0336", `a\u0336`, `a\u0336`},
		"an enclosing mark":            {"a\u20dd", `a\u20dd`, `a\u20dd`},
		"Hebrew":                       {"rm שלום", `rm \u05e9\u05dc\u05d5\u05dd`, "rm שלום"},
		"bytes":                        {"a\xff\xfeb", `a\xff\xfeb`, `a\xff\xfeb`},
		"private use":                  {"a\ue000", `a\ue000`, `a\ue000`},
		"a replacement character":      {"a\ufffd", `a\ufffd`, "a\ufffd"},
		"a letter that looks like !":   {"ok\u01c3", `ok\u01c3`, `ok\u01c3`},
		"a byte order mark":            {"\ufeffx", `\ufeffx`, `\ufeffx`},
		"a variation selector":         {"x\ufe0f", `x\ufe0f`, `x\ufe0f`},
		"letters that nobody can tell": {"\U00010400", `\U00010400`, `\U00010400`},
	} {
		if tt.line == "" {
			tt.line, tt.whole = tt.text, tt.text
		}
		assert.Equal(t, tt.line, show.Line(tt.text), name)
		assert.Equal(t, tt.whole, show.Text(tt.text), name)
	}
	assert.Equal(t, "a\nb\\rc", show.Output("a\r\nb\rc"))
}

// A page shows right-to-left letters, and in a line nothing else that a terminal does not.
func TestPage(t *testing.T) {
	for text, want := range map[string]string{
		"data-بيانات":       "data-بيانات",
		"שלום עולם":         "'שלום עולם'",
		"مُرَحَّب":          "مُرَحَّب",
		"a\u202eb":          `$'a\u202eb'`,
		"مر\nحبا":           `$'مر\nحبا'`,
		"don’t":             `$'don\u2019t'`,
		"kapalı":            `$'kapal\u0131'`,
		"p\u0430ypal":       `$'p\u0430ypal'`,
		"\u0665":            `$'\u0665'`,
		"plain -rf $(true)": "'plain -rf $(true)'",
	} {
		assert.Equal(t, want, show.Page.Word(text), "%q", text)
	}
	assert.Equal(t, `t note=$'\u05e9'`, show.Call("t", []byte(`{"note":"ש"}`)))
	q := show.Question{Tool: "t", Argv: []string{"rm", "ملف.txt"}, Files: []string{"ملف.txt"}, Title: "Run"}.Parts()
	assert.Equal(t, []string{"rm", "ملف.txt"}, q.Argv)
	assert.Equal(t, []string{"ملف.txt"}, q.Files)
	assert.NotContains(t, q.Headline, "ملف", "words in a line could change places")
}

func TestWordsHaveEdges(t *testing.T) {
	assert.Equal(t, `sh -c 'rm -rf a'`, show.Argv([]string{"sh", "-c", "rm -rf a"}))
	for word, want := range map[string]string{
		"": "''", "a": "a", "--a=b,c:d/e@f+g%h_i.j": "--a=b,c:d/e@f+g%h_i.j", "a b": "'a b'", "it's": `'it'\''s'`,
		"$x": "'$x'", "~": "'~'", "a;b": "'a;b'",
		"a\nb": `$'a\nb'`, "it's\n": `$'it\'s\n'`, `a\` + "\t": `$'a\\\t'`, "\x00": `$'\x00'`, "\x1b[2K": `$'\x1b[2K'`,
		"\u202e": `$'\u202e'`, "#x": "'#x'", "a\xff": `$'a\xff'`,
	} {
		assert.Equal(t, want, show.Word(word))
	}
}

// readWord parses a shown word as bash does.
func readWord(t *testing.T, shown string) string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader("x "+shown), "")
	require.NoError(t, err, shown)
	require.Len(t, file.Stmts, 1, shown)
	fields, err := expand.Fields(&expand.Config{Env: expand.ListEnviron()},
		file.Stmts[0].Cmd.(*syntax.CallExpr).Args...)
	require.NoError(t, err, shown)
	require.Len(t, fields, 2, shown)
	return fields[1]
}

func TestBlocks(t *testing.T) {
	assert.Equal(t, "", show.Block("", 40))
	assert.Equal(t, "| a\n| b\n", show.Block("a\nb", 40))
	assert.Equal(t, "| \n| Risk level: read_only\n", show.Block("\nRisk level: read_only\n", 40))
	long := strings.Repeat("x", 38) + strings.Repeat(" ", 38) + "y"
	assert.Equal(t, "| "+strings.Repeat("x", 38)+"\n: "+strings.Repeat(" ", 38)+"\n: y\n", show.Block(long, 40))
	assert.Equal(t, `| a\rb`+"\n", show.Prose("a\rb", 40))
}

func FuzzShow(f *testing.F) {
	for _, seed := range []string{"", "a b", "a\x1b[2K\r\nb", "p\u0430ypal\u202e\u200b", "\xff\xc3",
		"e\u0301\u0301\u0301\u0301", "$'a'", "שלום; rm", strings.Repeat("x ", 99)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		check(t, s, show.Text(s), false)
		check(t, s, show.Line(s), true)
		word := show.Word(s)
		check(t, s, word, true)
		assert.Equal(t, strings.Count(s, "\n"), strings.Count(show.Text(s), "\n"), "one line in, one line out")
		if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
			assert.Equal(t, s, readWord(t, word))
		}
		for line := range strings.Lines(show.Block(s, 60)) {
			check(t, s, strings.TrimSuffix(line, "\n"), false)
			assert.Contains(t, []string{"| ", ": "}, line[:2], "%q", line)
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 61)
		}
	})
}
