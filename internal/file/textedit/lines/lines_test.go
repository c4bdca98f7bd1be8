package lines_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/textedit/lines"
)

func TestOpenAndShown(t *testing.T) {
	for name, c := range map[string]struct{ file, text string }{
		"UTF-8":    {"grün\n", "grün\n"},
		"UTF-16LE": {"\xff\xfeg\x00\xfc\x00", "gü"},
		"UTF-16BE": {"\xfe\xff\x00g\x00\xfc", "gü"},
		"Latin-1":  {"gr\xfcn, grün", "grün, grün"},
	} {
		for cut := 2; cut <= len(c.file); cut++ {
			file := io.MultiReader(strings.NewReader(c.file[:cut]), strings.NewReader(c.file[cut:]))
			head, whole, err := lines.Open(file)
			require.NoError(t, err)
			assert.Equal(t, c.file, string(head))
			text, err := io.ReadAll(whole)
			require.NoError(t, err)
			assert.Equal(t, c.text, lines.Shown(text), name)
		}
	}
	_, _, err := lines.Open(iotest.ErrReader(io.ErrClosedPipe))
	assert.ErrorIs(t, err, io.ErrClosedPipe)
}

// The lines of any text joined are the text, and each knows its ending.
func TestEach(t *testing.T) {
	const buffer = 64 << 10 // the reader's
	for name, text := range map[string]string{
		"empty":                        "",
		"one line":                     "a\n",
		"no newline at the end":        "a\nb",
		"empty lines":                  "\n\n\n",
		"CRLF":                         "a\r\nb\r\n",
		"a return at the end":          "a\r",
		"longer than the buffer":       strings.Repeat("x", 3*buffer) + "\ny\n",
		"as long as the buffer":        strings.Repeat("x", buffer) + "\ny",
		"one less than the buffer":     strings.Repeat("x", buffer-1) + "\ny",
		"CRLF on the edge":             strings.Repeat("x", buffer-1) + "\r\ny\r\n",
		"longer, and CRLF on the edge": strings.Repeat("x", 2*buffer-1) + "\r\ny\r\n",
	} {
		var whole, contents strings.Builder
		count := 0
		err := lines.Each(t.Context(), strings.NewReader(text), len(text), func(l lines.Line) {
			count++
			assert.Equal(t, count, l.Number, name)
			assert.Len(t, l.Text, l.Size, name)
			whole.Write(l.Text)
			contents.Write(l.Content())
			contents.WriteString(string(l.Text[l.Size-l.Ending:]))
			assert.NotContains(t, string(l.Content()), "\n", name)
			assert.False(t, l.Ending > 0 && strings.HasSuffix(string(l.Content()), "\r"), name)
		})
		require.NoError(t, err)
		assert.Equal(t, text, whole.String(), name)
		assert.Equal(t, text, contents.String(), name)
	}
}

func TestEachCuts(t *testing.T) {
	text := strings.Repeat("x", 100_000) + "\r\nshort\n"
	var got []string
	err := lines.Each(t.Context(), strings.NewReader(text), 10,
		func(l lines.Line) { got = append(got, string(l.Content())) })
	require.NoError(t, err)
	assert.Equal(t, []string{"xxxxxxxxxx", "short"}, got)
}

func TestEachEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none := func(lines.Line) { t.Error("a line was read") }
	assert.ErrorIs(t, lines.Each(ctx, strings.NewReader("a\n"), 10, none), context.Canceled)
	count := 0
	broken := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrClosedPipe))
	assert.ErrorIs(t, lines.Each(t.Context(), broken, 10, func(lines.Line) { count++ }), io.ErrClosedPipe)
	assert.LessOrEqual(t, count, 2)
}

// TestWhile reads no further than wanted: what follows would fail.
func TestWhile(t *testing.T) {
	r := io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(errors.New("read too far")))
	var seen []string
	require.NoError(t, lines.While(context.Background(), r, 9, func(l lines.Line) bool {
		seen = append(seen, l.Shown(9))
		return l.Number < 2
	}))
	assert.Equal(t, []string{"a", "b"}, seen)
}
