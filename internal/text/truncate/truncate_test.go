package truncate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

func TestHeadAndShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		head  string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"aé", 3, "aé"},
		{"aéb", 2, "a"},
		{"a€b", 3, "a"},
		{"a😀b", 4, "a"},
		{"a😀b", 5, "a😀"},
		{"a\xffb", 2, "a\xff"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
	} {
		assert.Equal(t, c.head, truncate.Head(c.text, c.limit), "%q", c.text)
		assert.Equal(t, []byte(c.head), truncate.Head([]byte(c.text), c.limit), "%q", c.text)
		want := c.head
		if len(c.text) > c.limit {
			want += "..."
		}
		assert.Equal(t, want, truncate.Shorten(c.text, c.limit), "%q", c.text)
	}
}

// A text cut at any place stays valid, and loses less than a character.
func TestTrim(t *testing.T) {
	const text = "plain, ünï, €uro, 日本語, 😀😀"
	for i := range len(text) + 1 {
		head, tail := truncate.TrimEnd(text[:i]), truncate.TrimStart(text[i:])
		for _, part := range []string{head, tail} {
			assert.True(t, utf8.ValidString(part), "%q", part)
		}
		assert.True(t, strings.HasPrefix(text, head) && strings.HasSuffix(text, tail))
		lost := text[len(head) : len(text)-len(tail)]
		if utf8.RuneStart((text + "x")[i]) {
			assert.Empty(t, lost)
		} else {
			assert.Equal(t, 1, utf8.RuneCountInString(lost), "%q", lost)
		}
	}
}

func TestTrimLeavesWhatIsNoText(t *testing.T) {
	const noText = "\x80\x80\x80\x80\x80"
	assert.Equal(t, noText, truncate.TrimEnd(noText))
	assert.Equal(t, noText, truncate.TrimStart(noText))
}
