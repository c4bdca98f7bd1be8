package show_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/face/show"
)

// written returns what a terminal gets of texts written one after the other.
func written(t *testing.T, texts ...string) string {
	t.Helper()
	var b strings.Builder
	w := &show.Writer{To: &b, Pass: []string{"\x1b[32m", "\x1b[0m"}}
	for _, text := range texts {
		n, err := w.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
	}
	require.NoError(t, w.Flush())
	return b.String()
}

func TestWriter(t *testing.T) {
	for name, tt := range map[string]struct {
		texts []string
		want  string
	}{
		"as it is":                 {[]string{"a\tb\n", "ü\n"}, "a\tb\nü\n"},
		"its own colours":          {[]string{"\x1b[32mok\x1b[0m\n"}, "\x1b[32mok\x1b[0m\n"},
		"its own colours in parts": {[]string{"\x1b", "[3", "2mok\x1b[0", "m\n"}, "\x1b[32mok\x1b[0m\n"},
		"others": {[]string{"\x1b[8mhidden\x1b[28m\x1b]52;c;eA==\a"},
			`\x1b[8mhidden\x1b[28m\x1b]52;c;eA==\x07`},
		"others in parts":             {[]string{"\x1b", "[", "8m", "\x1b"}, `\x1b[8m\x1b`},
		"a character in parts":        {[]string{"\xe2", "\x82", "\xac"}, "€"},
		"a part of a character":       {[]string{"\xe2\x82", "a", "\xe2"}, `\xe2\x82a\xe2`},
		"a line's end in parts":       {[]string{"a\r", "\nb\r", "c\r"}, `a` + "\n" + `b\rc\r`},
		"a colour's beginning at end": {[]string{"a\x1b[3"}, `a\x1b[3`},
		"an escape inside one":        {[]string{"\x1b[3\x1b[32mx"}, `\x1b[3` + "\x1b[32mx"},
	} {
		assert.Equal(t, tt.want, written(t, tt.texts...), name)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("a\x1b[32mb\r\nc\xe2\x82\xac", 3)
	f.Add("\x1b[2J\x1b[0m", 1)
	f.Fuzz(func(t *testing.T, s string, size int) {
		var parts []string
		for rest := s; rest != ""; {
			n := min(len(rest), max(1, size%9))
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		for _, shown := range []string{written(t, s), written(t, parts...)} {
			shown = strings.NewReplacer("\x1b[32m", "", "\x1b[0m", "").Replace(shown)
			for _, r := range shown {
				if why := deceives(r, false); why != "" {
					t.Errorf("%q is shown as %q: %U: %s", s, shown, r, why)
				}
			}
		}
	})
}
