package textedit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a b\tc\r":        "a·b→c␍",
		"a\nb":            "a\nb",
		"a\u00a0b\u200bc": `a\u{a0}b\u{200b}c`,
		"e\u0301é":        `e\u{301}é`,
		"\x01\x7f\x00":    `\u{1}\u{7f}\u{0}`,
		"caf\xe9":         `caf\xe9`,
		"\ufeff日本":        `\u{feff}日本`,
	} {
		assert.Equal(t, want, Visible(in), "%q", in)
	}
}

func nearest(t testing.TB, data []byte, old string, limit int) []Near {
	t.Helper()
	text, err := Decode(data)
	require.NoError(t, err)
	return text.Nearest(old, limit)
}

const program = "package main\n\nfunc main() {\n\tfmt.Println(\"hello\")\n\tif x  {\n\t\treturn\n\t}\n}\n"

func TestNearestFindsLinesThatDifferInWhitespace(t *testing.T) {
	for name, c := range map[string]struct {
		data, old string
		line      int
		text      string
	}{
		"spaces for a tab":         {program, `    fmt.Println("hello")`, 4, "\tfmt.Println(\"hello\")"},
		"several lines":            {program, "if x {\n  return\n}\n", 5, "\tif x  {\n\t\treturn\n\t}"},
		"blank lines around":       {program, "\n\n  if x {\n  return\n}\n\n", 5, "\tif x  {\n\t\treturn\n\t}"},
		"trailing blank":           {"a = 1  \nb\n", "a = 1\nb", 1, "a = 1  \nb"},
		"no-break space":           {"x\na\u00a0= 1\n", "a = 1", 2, "a\u00a0= 1"},
		"CRLF":                     {"x\r\n\ta\r\nb\r\n", "  a\nb\n", 2, "\ta\r\nb\r"},
		"first line after a mark":  {utf8BOM + "\ta\n", "  a", 1, "\ta"},
		"old Mac":                  {"x\r\ta\rb\r", "  a\nb", 2, "\ta\nb"},
		"last line without ending": {"x\n\tlast", "  last\n", 2, "\tlast"},
		"a blank line inside":      {"a\n\t\nb c\n", "a\n\nbc", 1, "a\n\t\nb c"},
	} {
		t.Run(name, func(t *testing.T) {
			near := nearest(t, []byte(c.data), c.old, 3)
			require.NotEmpty(t, near)
			assert.Equal(t, Near{Line: c.line, Text: c.text, Visible: Visible(c.text), WhitespaceOnly: true}, near[0])
		})
	}
}

func TestNearestListsEveryWhitespaceMatchUpToTheLimit(t *testing.T) {
	near := nearest(t, []byte("\ta\nb\n a\n  a\n\t\ta\n"), "   a", 3)
	require.Len(t, near, 3)
	assert.Equal(t, []int{1, 3, 4}, []int{near[0].Line, near[1].Line, near[2].Line})
}

func TestNearestFindsSimilarLines(t *testing.T) {
	for name, c := range map[string]struct {
		data, old string
		line      int
	}{
		"a typo":                   {program, `fmt.Printn("hello")`, 4},
		"the longest line decides": {program, "{\n\tfmt.Println(\"hallo\")\n", 4},
		"part of a line":           {"one two three\nthe quick brown fox jumps over\n", "quick brwn fox", 2},
		"another Unicode form":     {"tea\ncafe\u0301\n", "caf\u00e9", 2},
	} {
		t.Run(name, func(t *testing.T) {
			near := nearest(t, []byte(c.data), c.old, 3)
			require.NotEmpty(t, near)
			assert.Equal(t, c.line, near[0].Line)
			assert.False(t, near[0].WhitespaceOnly)
		})
	}
}

func TestNearestFindsNothing(t *testing.T) {
	for name, c := range map[string][2]string{
		"nothing alike": {program, "ÄÖÜ 123456789"},
		"only blanks":   {program, " \t\n"},
		"empty file":    {"", "x"},
		"no limit":      {program, ""},
	} {
		assert.Empty(t, nearest(t, []byte(c[0]), c[1], 3), name)
	}
	assert.Empty(t, nearest(t, []byte(program), "return", 0))
}

func TestNearestCutsVeryLongLines(t *testing.T) {
	line := strings.Repeat("0123456789", 10_000) + "the needle is hidden here" + strings.Repeat("9876543210", 10_000)
	near := nearest(t, []byte(line), "the needel is hidden her", 1)
	require.Len(t, near, 1)
	assert.Less(t, len(near[0].Text), 1000)
	assert.Contains(t, near[0].Text, "needle")
}

func TestNearestIsBoundedOnLargeFiles(t *testing.T) {
	testneed.NotShort(t, "edits large texts")
	for name, c := range map[string][2]string{
		"ordinary": {strings.Repeat("\tline of (x, y) { return }\n", 10<<20/27),
			"\tlines off (x,y) { retur }\nsecond\n"},
		"one line":            {strings.Repeat("abcdefghij ", 1<<20), "abcdefgixj abc"},
		"blank":               {strings.Repeat("    ", 10<<18), "a b"},
		"repetitive":          {strings.Repeat("}\n", 5<<20), strings.Repeat("}\n", 1000) + "x\n"},
		"as large an old":     {strings.Repeat("ab\n", 1<<20), strings.Repeat("ab\n", 1<<20) + "c"},
		"one large line each": {strings.Repeat("ab", 1<<20), strings.Repeat("ab", 1<<20) + "c"},
	} {
		start := time.Now()
		nearest(t, []byte(c[0]), c[1], 3)
		assert.Less(t, time.Since(start), time.Minute, name)
	}
}

func TestExplain(t *testing.T) {
	near := nearest(t, []byte(program), "    return", 3)
	assert.Equal(t, "These lines differ from it in whitespace only (· is a space, → a tab, ␍ a carriage "+
		"return):\n  6: →→return", Explain(near))
	near = nearest(t, []byte(program), "fmt.Prinln(hello)", 1)
	assert.Equal(t, "Nearest lines (· is a space, → a tab, ␍ a carriage return):\n  4: →fmt.Println(\"hello\")",
		Explain(near))
	long := strings.Repeat("a b\n", 100)
	assert.Contains(t, Explain(nearest(t, []byte(long), strings.Repeat("ab\n", 100), 1)), "... 70 more lines")
	assert.Empty(t, Explain(nil))
}

func FuzzNearest(f *testing.F) {
	f.Add([]byte(program), "    return\n\t}")
	f.Add([]byte("a\rb\r"), "a b")
	f.Add([]byte("\xff\xfea\x00"), "\xff")
	f.Fuzz(func(t *testing.T, data []byte, old string) {
		if _, err := Decode(data); err != nil {
			return // binary
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, n := range nearest(t, data, old, 3) {
			require.True(t, n.Line >= 1 && n.Line <= lines, fmt.Sprint(n.Line))
			require.Equal(t, Visible(n.Text), n.Visible)
		}
	})
}
