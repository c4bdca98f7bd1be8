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

// TestStream writes streams of many lengths in pieces of many sizes, and
// compares with the text itself.
func TestStream(t *testing.T) {
	var text strings.Builder
	for i := 0; text.Len() < 3*ringSize; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	all := text.String()
	const capacity = 1000
	for _, limit := range []int64{1, 600, 5000, ringSize + 77} {
		for _, length := range []int{0, 1, 599, 600, 601, 1000, 1001, 5000, 5001, 6000, ringSize - 1, ringSize + 100,
			2*ringSize + 5, 3 * ringSize} {
			for _, piece := range []int{977, 64 << 10, ringSize + 12345} {
				text := all[:length]
				dir, err := os.OpenRoot(t.TempDir())
				require.NoError(t, err)
				w, err := newWriter(dir, "stdout", limit)
				require.NoError(t, err)
				for rest := []byte(text); len(rest) > 0; {
					n := min(piece, len(rest))
					w.write(rest[:n])
					rest = rest[n:]
				}
				require.NoError(t, w.close())
				o, err := (&Store{options: Options{OutputCap: capacity}}).read(dir, "x", "stdout")
				require.NoError(t, err)
				name := fmt.Sprintf("limit %d length %d piece %d", limit, length, piece)
				assert.EqualValues(t, length, o.Bytes, name)
				assert.True(t, strings.HasPrefix(text, string(o.Head)), name)
				assert.True(t, strings.HasSuffix(text, string(o.Tail)), name)
				assert.EqualValues(t, length, int64(len(o.Head)+len(o.Tail))+o.Omitted, name)
				if length <= capacity && int64(length) <= limit {
					assert.Equal(t, text, o.String(), name)
				} else {
					assert.Len(t, o.Tail, min(capacity/2, length), name)
					assert.Len(t, o.Head, int(min(capacity/2, limit, int64(length))), name)
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
}
