package textedit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
)

func TestReplaceBoundsWhatATextGrowsTo(t *testing.T) {
	text, err := textedit.Decode([]byte("a\n"))
	require.NoError(t, err)
	grow := strings.Repeat("a", 100)
	edits := 0
	for err == nil && edits < 20 {
		_, err = text.Replace("a", grow, textedit.ReplaceOptions{Which: textedit.All})
		edits++
	}
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
	assert.Equal(t, 4, edits, "100^4 bytes are too many")
	assert.Less(t, len(text.Encode()), textedit.MaxSize)
	_, err = text.Replace("a", "", textedit.ReplaceOptions{Which: textedit.All})
	assert.NoError(t, err, "what makes a text smaller is never too large")
}

// A long line with many occurrences must not take long.
func TestReplaceInALongLine(t *testing.T) {
	for name, new := range map[string]string{"without a line ending": "b", "with one": "b\n"} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			r, err := textedit.Replace([]byte(strings.Repeat("a", 1<<20)), "a", new,
				textedit.ReplaceOptions{Which: textedit.All})
			require.NoError(t, err)
			assert.Equal(t, 1<<20, r.Count)
			assert.Less(t, time.Since(began), time.Minute)
		})
	}
}
