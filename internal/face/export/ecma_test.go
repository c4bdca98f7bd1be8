package export_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/face/export"
)

// exported returns a pattern as clients get it, or "".
func exported(t *testing.T, pattern string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"type": "object",
		"properties": map[string]any{"p": map[string]any{"type": "string", "pattern": pattern}}})
	require.NoError(t, err)
	var out struct {
		Properties map[string]struct{ Pattern string }
	}
	require.NoError(t, json.Unmarshal(export.ECMA(raw), &out))
	return out.Properties["p"].Pattern
}

// Patterns that both engines read alike are unchanged.
func TestPatternsThatStay(t *testing.T) {
	for _, pattern := range []string{
		`^[a-z]+$`, `^(?:ab|cd)*?x{2,3}\.$`, `^[\w.-]+@\d+$`, `a\/b`, `[^\]]`, `[\-a]`, `^é+$`, `\bword\b`, `x{3}`,
		`x{3,}?`, ``,
		`^(?!\.)(?=x).*$`, // not RE2
	} {
		assert.Equal(t, pattern, exported(t, pattern))
	}
}

// What ECMA-262 lacks is rewritten and matches the same texts, or is left out.
func TestPatternsOfRE2(t *testing.T) {
	texts := []string{
		"", "a", "A", "abc", "ABC", "aBc", "k", "\u212a", "x\ny", "x y", "-", "]", "^", "\\", "{", "}", "a{", "{}", "é",
		"É", "ab", "abab", "0", "7", "_", "\t", "\r", "\u2028", "😀", "a😀", "xx", "xxxx", "@", "a@b", "a.b", "a-b",
	}
	tests := map[string]string{ // the expected pattern, or "" if only its meaning counts
		`(?i)^abc$`:                 `^[Aa][Bb][Cc]$`,
		`(?i)k`:                     `[Kk\u212a]`,
		`\Aab\z`:                    `^ab$`,
		`(?P<name>a|b)c`:            ``,
		`(?s)^x.y$`:                 `^x[\s\S]y$`,
		`^a{,2}$`:                   ``,
		`a{`:                        `a\{`,
		`^[]a]$`:                    ``,
		`^[^]a]$`:                   ``,
		`^\@$`:                      ``,
		`^a\-b$`:                    `^a-b$`,
		`\Q{}\E`:                    ``,
		`^[[:alpha:]]+$`:            `^(?:[A-Za-z])+$`,
		`^\x{e9}$`:                  `^\xe9$`,
		`[\d-]`:                     `[\d-]`,
		`[\w-.]`:                    ``,
		`^\s$`:                      ``,
		`(?:^)*a`:                   ``,
		`}`:                         `\}`,
		`(?U)a+`:                    ``,
		`[^a]`:                      `[^a]`,
		`(?i)[^a]`:                  ``,
		"^[\U0001F600-\U0001F64F]$": "^[\U0001F600-\U0001F64F]$",
		`(a)(?i:b)`:                 ``,
	}
	for pattern, want := range tests {
		got := exported(t, pattern)
		if want != "" {
			assert.Equal(t, want, got, pattern)
		}
		require.NotEmpty(t, got, pattern)
		theirs, err := regexp2.Compile(got, regexp2.ECMAScript|regexp2.Unicode)
		require.NoError(t, err, "%s became %s", pattern, got)
		ours := regexp.MustCompile(pattern)
		for _, text := range texts {
			matched, err := theirs.MatchString(text)
			require.NoError(t, err)
			assert.Equal(t, ours.MatchString(text), matched, "%s became %s, on %q", pattern, got, text)
		}
	}
	for _, pattern := range []string{`(?m)^a$`, `\pL+`, `[^\x00-\x{10FFFF}]`, `(?i)` + strings.Repeat("ab", 200)} {
		assert.Empty(t, exported(t, pattern), pattern)
	}
}

func TestECMAKeepsEverythingElse(t *testing.T) {
	same := `{"zebra":1.50, "properties":{"pattern":{"type":"string","pattern":"^a$"}}}`
	assert.Equal(t, same, string(export.ECMA(json.RawMessage(same))))
	assert.Equal(t, `{`, string(export.ECMA(json.RawMessage(`{`))))

	in := `{"z":1,"properties":{"pattern":{"pattern":"(?i)a"},"b":{"default":{"pattern":"(?i)a"}}},` +
		`"patternProperties":{"(?i)x":{"items":[{"pattern":"\\pL"}]},"\\pN":true},"additionalProperties":false}`
	want := `{"z":1,"properties":{"pattern":{"pattern":"[Aa]"},"b":{"default":{"pattern":"(?i)a"}}},` +
		`"patternProperties":{"[Xx]":{"items":[{}]},"":true},"additionalProperties":false}`
	assert.Equal(t, want, string(export.ECMA(json.RawMessage(in))))
}
