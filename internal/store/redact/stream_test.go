package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/store/redact"
)

func throughStream(secrets []string, pieces ...string) string {
	s := redact.NewStream(secrets)
	var out strings.Builder
	for _, piece := range pieces {
		out.Write(s.Pass([]byte(piece)))
	}
	out.Write(s.Rest())
	return out.String()
}

func TestStream(t *testing.T) {
	for name, c := range map[string]struct {
		secrets []string
		pieces  []string
		want    string
	}{
		"nothing to hide":          {nil, []string{"plain", " text"}, "plain text"},
		"too short to look for":    {[]string{"abc"}, []string{"abc"}, "abc"},
		"whole":                    {[]string{"hunter2"}, []string{"a hunter2 b"}, "a [redacted] b"},
		"in two pieces":            {[]string{"hunter2"}, []string{"a hun", "ter2 b"}, "a [redacted] b"},
		"byte by byte":             {[]string{"hunter2"}, strings.Split("hunter2hunter2", ""), "[redacted][redacted]"},
		"a beginning that is none": {[]string{"hunter2"}, []string{"hun", "ting"}, "hunting"},
		"a beginning at the end":   {[]string{"hunter2"}, []string{"a hunt"}, "a hunt"},
		"the longer one":           {[]string{"hunter", "hunter2longer"}, []string{"hunter", "2longer"}, "[redacted]"},
		"the shorter one": {[]string{"hunter", "hunter2longer"}, []string{"hunter", "2long"},
			"[redacted]2long"},
		"one within another": {[]string{"abcd", "xxabcdyy"}, []string{"xxabcd", "yy"}, "[redacted]"},
		"one within none":    {[]string{"abcd", "xxabcdyy"}, []string{"xxabcd", "zz"}, "xx[redacted]zz"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, throughStream(c.secrets, c.pieces...)) })
	}
}

// However a text is cut into chunks, the result is the same, without the secrets.
func FuzzStream(f *testing.F) {
	f.Add("hunter2", "hunter2longer", "a hunter2longer b hunter2", 3)
	f.Add("aaaa", "abab", "aaaaaaabababab", 1)
	f.Fuzz(func(t *testing.T, one, two, text string, size int) {
		secrets := []string{one, two}
		var pieces []string
		for rest := text; rest != ""; {
			n := min(len(rest), 1+abs(size)%7)
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got := throughStream(secrets, pieces...)
		assert.Equal(t, throughStream(secrets, text), got)
		for _, s := range secrets {
			if len(s) >= 4 && !strings.Contains(strings.Repeat(redact.Mark, 2), s) &&
				!strings.ContainsAny(s, redact.Mark) {
				assert.NotContains(t, got, s)
			}
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
