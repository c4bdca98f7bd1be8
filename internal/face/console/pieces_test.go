package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pieces of a text are complete, bounded, and split no character.
func TestPiecesOfAText(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", pieceText), strings.Repeat("aé€😀", pieceText),
		strings.Repeat("😀", pieceText/2) + "x"} {
		var b strings.Builder
		first := pieceOf(text, 0)
		for n := range first.Pieces {
			p := pieceOf(text, n)
			assert.Equal(t, b.Len(), p.From)
			assert.LessOrEqual(t, len(p.Text), pieceText+4)
			assert.NotContains(t, p.Text, "\ufffd")
			b.WriteString(p.Text)
		}
		assert.Equal(t, text, b.String())
		assert.Equal(t, len(text), first.Size)
	}
	assert.Equal(t, `a\u202eb`, pieceOf("a\u202eb", 0).Text, "what turns text is written out")
	assert.Equal(t, pieceOf("text", 0), pieceOf("text", 99), "there is a nearest")
	assert.Equal(t, pieceOf("text", 0), pieceOf("text", -1))
}

func TestPiecesOfParts(t *testing.T) {
	list := make([]any, 3*pieceParts+1)
	for i := range list {
		list[i] = strings.Repeat("x", i)
	}
	v := any(map[string]any{"b\u202e": list, "a": nil, "c": map[string]any{}})
	p := pieceOf(v, 0)
	require.Len(t, p.Parts, 3)
	assert.Equal(t, part{Name: "a", Value: "null"}, p.Parts[0])
	assert.Equal(t, part{Name: `b\u202e`, Kind: "list", Size: len(list)}, p.Parts[1])
	assert.Equal(t, part{Name: "c", Kind: "object"}, p.Parts[2])
	inner, ok := partAt(v, 1)
	require.True(t, ok)
	p = pieceOf(inner, 3)
	assert.Equal(t, 4, p.Pieces)
	assert.Equal(t, []part{{Name: "600", Kind: "text", Size: 600}}, p.Parts)
	assert.Len(t, pieceOf(inner, 1).Parts, pieceParts)
	text, ok := partAt(inner, 600)
	assert.True(t, ok)
	assert.Equal(t, strings.Repeat("x", 600), pieceOf(text, 0).Text)
	for _, n := range []int{-1, len(list)} {
		_, ok := partAt(inner, n)
		assert.False(t, ok)
	}
	_, ok = partAt("text", 0)
	assert.False(t, ok)
}
