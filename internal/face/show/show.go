package show

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text shows several lines: line feeds and tabs stay.
func Text(s string) string { return render(s, letters|fromTheRight|writing|layout) }

// Output is Text for a program's output: lines may end in CRLF.
func Output(s string) string { return Text(strings.ReplaceAll(s, "\r\n", "\n")) }

// Medium is the kind of display.
type Medium mode

// Terminal may reorder right-to-left letters in a line, so they are escaped. Page is an isolated
// element of a page and shows every script.
const (
	Terminal = Medium(letters)
	Page     = Medium(letters | fromTheRight)
)

// Line is Terminal.Line.
func Line(s string) string { return Terminal.Line(s) }

// Word is Terminal.Word.
func Word(s string) string { return Terminal.Word(s) }

// Line shows in one line what a decision depends on: a command, path or name. Most punctuation beyond
// ASCII is escaped.
func (m Medium) Line(s string) string { return render(s, mode(m)) }

// Word shows a word of a command with visible bounds: unchanged if unmistakable, else in bash's quotes.
func (m Medium) Word(s string) string {
	if s == "" {
		return "''"
	}
	shown := m.Line(s)
	switch {
	case shown != s:
		return "$'" + render(s, mode(m)|quoting) + "'"
	case strings.Contains(s, "'"):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	case strings.ContainsFunc(s, special) || s[0] == '~' || strings.HasPrefix(s, "$'"):
		return "'" + s + "'"
	}
	return s
}

// special reports whether r separates words or has a meaning in a shell.
func special(r rune) bool { return strings.ContainsRune(" \"\\|&;<>()$`*?[]{}#!^", r) }

// Argv shows an argument list as typed. Right-to-left letters are always escaped, since they could swap
// words.
func Argv(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = Word(arg)
	}
	return strings.Join(words, " ")
}

// mode selects what is shown beyond ASCII.
type mode int

const (
	letters      mode = 1 << iota // of left-to-right scripts
	fromTheRight                  // letters of right-to-left scripts
	writing                       // punctuation and symbols
	layout                        // line feeds and tabs
	quoting                       // the text is within $'...'
)

// render writes s word by word, since a letter's look depends on its neighbours.
func render(s string, m mode) string {
	if plain(s, m) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		n := wordLen(s)
		if n == 0 {
			r, size := utf8.DecodeRuneInString(s)
			m.write(&b, r, s[:size], false)
			s = s[size:]
			continue
		}
		m.writeWord(&b, s[:n])
		s = s[n:]
	}
	return b.String()
}

// plain reports whether s is printable ASCII, as most texts are.
func plain(s string, m mode) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 0x7f, c < ' ' && (m&layout == 0 || c != '\n' && c != '\t'),
			m&quoting != 0 && (c == '\'' || c == '\\'):
			return false
		}
	}
	return true
}

// wordLen returns the length of the letters, marks and digits that s begins with.
func wordLen(s string) int {
	for i, r := range s {
		if r == utf8.RuneError || !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			return i
		}
	}
	return len(s)
}

// writeWord writes letters, marks and digits. A word is mistakable if ASCII lookalikes are mixed with
// ASCII, or are all of it.
func (m mode) writeWord(b *strings.Builder, word string) {
	imitates := m.imitates(word)
	var base rune // that marks may stand on
	marks := 0
	for _, r := range word {
		if !unicode.Is(unicode.M, r) {
			ok := m.shows(r) && !(imitates && looksASCII(r) && !(r == 'ı' && m&writing != 0))
			m.write(b, r, string(r), ok)
			base, marks = 0, 0
			if ok {
				base = r
			}
			continue
		}
		marks++
		m.write(b, r, string(r), base != 0 && marks <= mostMarks && m.marks(base, r))
	}
}

// imitates reports whether the word's ASCII lookalikes could be taken for ASCII.
func (m mode) imitates(word string) bool {
	ascii, others, alike := false, false, false
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf || r == 'ı' && m&writing != 0: // common in Turkish
			ascii = ascii || r > '9'
		case looksASCII(r):
			alike = true
		case unicode.Is(unicode.L, r) && !unicode.Is(unicode.Latin, r):
			others = true
		case unicode.Is(unicode.Latin, r):
			ascii = true
		}
	}
	return alike && (ascii || !others)
}

// mostMarks bounds the marks on one letter.
const mostMarks = 3

// write writes a character unchanged if ok, else escaped. raw is its bytes in the text, for invalid
// UTF-8.
func (m mode) write(b *strings.Builder, r rune, raw string, ok bool) {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case m&quoting != 0 && (r == '\'' || r == '\\'):
		b.WriteString(`\` + raw)
	case ok || m.shows(r) && !unicode.In(r, unicode.L, unicode.N, unicode.M):
		b.WriteString(raw)
	default:
		b.WriteString(escaped(r))
	}
}

func escaped(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	}
	switch {
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// shows reports whether a character by itself is unmistakable.
func (m mode) shows(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= ' ' && r < 0x7f || m&layout != 0 && (r == '\n' || r == '\t')
	case invisible(r):
		return false
	case unicode.In(r, unicode.L, unicode.N):
		return unicode.In(r, scripts...) || m&fromTheRight != 0 && unicode.In(r, fromRight...) || commonLetter(r)
	case emoji(r):
		return true
	case m&writing != 0 && unicode.In(r, unicode.P, unicode.S):
		return !looksASCII(r) || typographic(r)
	}
	return false
}

// marks reports whether a mark may follow a letter. Line escapes a mark of no script, such as an
// accent: a letter with its accent is one character.
func (m mode) marks(base, mark rune) bool {
	if invisible(mark) || !unicode.In(mark, unicode.Mn, unicode.Mc) {
		return false
	}
	for _, script := range scripts {
		if unicode.Is(script, base) {
			return unicode.Is(script, mark) || m&writing != 0 && accent(mark)
		}
	}
	return m&fromTheRight != 0 && unicode.In(base, fromRight...) &&
		(unicode.In(mark, fromRight...) || mark >= 0x64b && mark <= 0x655 || mark == 0x670)
}

// accent reports whether r is a mark above or below a letter that does not alter it.
func accent(r rune) bool {
	return r >= 0x300 && r <= 0x333 || r >= 0x339 && r <= 0x345 || r >= 0x3099 && r <= 0x309a
}

// commonLetter reports whether r is a letter or digit of no script: superscripts, circled numbers,
// Japanese ones.
func commonLetter(r rune) bool {
	listed := r < 0x300 || r >= 0x2070 && r <= 0x209f || r >= 0x2150 && r <= 0x24ff || r >= 0x3000 && r <= 0x33ff ||
		r == 0xff70
	return listed && unicode.Is(unicode.Common, r) && !looksASCII(r)
}

// invisible reports whether r takes no room or is blank.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
		unicode.Z) ||
		r == 0x2800 || r >= 0xe0000 && r <= 0xe0fff
}

func emoji(r rune) bool {
	return unicode.Is(unicode.So, r) && !looksASCII(r) && (r >= 0x1f300 && r <= 0x1faff || r >= 0x2600 && r <= 0x274f)
}

// typographic reports whether r is a quote, dash, wide comma or the like, common in prose.
func typographic(r rune) bool {
	return r >= 0x2010 && r <= 0x2027 || r >= 0xff01 && r <= 0xff5e || r == 0xd7 || r == 0xb7 || r == 0xb4
}

// scripts are the left-to-right scripts in use with distinct letters.
var scripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Georgian, unicode.Han, unicode.Hiragana,
	unicode.Katakana,
	unicode.Bopomofo, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
	unicode.Devanagari,
	unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam,
	unicode.Sinhala, unicode.Ethiopic,
}

// fromRight are the right-to-left scripts in use.
var fromRight = []*unicode.RangeTable{unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana}
