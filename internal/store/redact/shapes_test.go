package redact

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each mark is found wherever it is in a text, and nothing else.
func TestMarksAreFound(t *testing.T) {
	for _, mark := range tokenMarks {
		require.NotEqual(t, -1, strings.IndexAny(mark, anchors), "%s has no anchor", mark)
		for _, text := range []string{mark, "a" + mark, mark + "a", strings.Repeat("KI_-xJGV:cr", 9) + mark} {
			assert.True(t, mayHoldToken(text), text)
			assert.True(t, mayHoldToken([]byte(text)), text)
		}
		assert.False(t, mayHoldToken(mark[1:]), mark[1:])
		assert.False(t, mayHoldToken(mark[:len(mark)-1]), mark[:len(mark)-1])
	}
	letters := "AKISGVTEYPza_-xor.:/ eyJhnpmsklivabcd"
	for range 20_000 {
		text := make([]byte, rand.IntN(30))
		for i := range text {
			text[i] = letters[rand.IntN(len(letters))]
		}
		want := false
		for _, mark := range tokenMarks {
			want = want || strings.Contains(string(text), mark)
		}
		require.Equal(t, want, mayHoldToken(text), "%q", text)
	}
}

// A token is found in JSON however its characters are escaped, beside escapes that hide nothing.
func TestEscapedTokens(t *testing.T) {
	r := WithShapes(nil)
	token := "ghp_" + strings.Repeat("a1B2", 10)
	address := "https://user:hunter22@example.org/"
	number := func(s string) string {
		var out strings.Builder
		for _, c := range s {
			fmt.Fprintf(&out, `\u%04x`, c)
		}
		return out.String()
	}
	for name, written := range map[string]string{
		"as it is":        `"a \"quoted\"\n` + token + `\n"`,
		"by numbers":      `"` + number(token) + `"`,
		"its mark":        `"\u0067hp_` + token[4:] + `"`,
		"slashes escaped": `"a\n` + strings.ReplaceAll(address, "/", `\/`) + `"`,
		"an address":      `"a\tb ` + address + `"`,
	} {
		data := []byte(`{"line":"one\ntwo","text":` + written + `}`)
		require.True(t, json.Valid(data), name)
		var clean struct{ Line, Text string }
		require.NoError(t, json.Unmarshal(r.JSON(data), &clean), name)
		assert.Contains(t, clean.Text, Mark, name)
		assert.NotContains(t, clean.Text, token[4:], name)
		assert.NotContains(t, clean.Text, "hunter22", name)
		assert.Equal(t, "one\ntwo", clean.Line, name)
	}
	plain := []byte(`{"text":"a \"quoted\"\n\\ line","n":1}`)
	assert.Equal(t, string(plain), string(r.JSON(plain)))
}
