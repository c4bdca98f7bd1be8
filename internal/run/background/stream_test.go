package background

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStream writes streams of many lengths in parts of many sizes.
func TestStream(t *testing.T) {
	const most = 1000
	var text strings.Builder
	for i := 0; text.Len() < 20*most; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	for _, length := range []int{0, 1, 499, 500, 501, 999, 1000, 1001, 1499, 1500, 1501, 2000, 5001, 20 * most} {
		for _, piece := range []int{1, 7, 499, 500, 501, 977, 1200, 64 << 10} {
			text := text.String()[:length]
			dir, err := os.OpenRoot(t.TempDir())
			require.NoError(t, err)
			w, err := newStream(dir, "stdout", most)
			require.NoError(t, err)
			for rest := []byte(text); len(rest) > 0; {
				n := min(piece, len(rest))
				w.write(rest[:n])
				rest = rest[n:]
			}
			require.NoError(t, w.close())
			o, err := readStream(dir, "stdout")
			require.NoError(t, err)
			name := fmt.Sprintf("length %d piece %d", length, piece)
			assert.EqualValues(t, length, o.Bytes, name)
			if length <= most {
				assert.Equal(t, text, o.String(), name)
			} else {
				assert.Equal(t, text[:most/2], string(o.Head), name)
				assert.Equal(t, text[length-most/2:], string(o.Tail), name)
				assert.EqualValues(t, length-most, o.Omitted, name)
				left := text[most/2 : length-most/2]
				assert.EqualValues(t, strings.Count(left, "\n"), o.OmittedLines, name)
			}
			lines := bytes.Count([]byte(text), []byte("\n"))
			if text != "" && !strings.HasSuffix(text, "\n") {
				lines++
			}
			assert.EqualValues(t, lines, o.Lines, name)
			dir.Close()
		}
	}
}
