package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line is what encoding/json makes of its entry, whatever its texts contain, and its header is read without
// the rest.
func TestLinesAreJSON(t *testing.T) {
	hard := []string{"", "s", "a \"b\" \\ c", "line\nbreak\ttab\x00\x7f", "<&>", "é \u2028 \U0001f600", "/a dir/b"}
	objects := []json.RawMessage{nil, []byte(`{}`), []byte(`{"a":"x\ny","event":[1,2.5e3,null]}`),
		[]byte(`{"long":"` + strings.Repeat("é", 3000) + `"}`)}
	for i, text := range hard {
		for j, object := range objects {
			e := &entry{N: int64(i*100 + j + 1), At: "2026-01-02T03:04:05.000006Z", Session: text, Run: text, By: text,
				Event: "e", Body: object, Stored: int64(i),
				More: object, Of: int64(i), Holds: text, Workspace: text}
			if j%2 == 0 {
				e.Blob = &blob{Hash: text, Bytes: int64(j)}
			} else {
				e.Content = object
			}
			want, err := marshal(e)
			require.NoError(t, err)
			line := e.format()
			require.Equal(t, string(want)+"\n", string(line))
			h, ok := readHeader(line)
			require.True(t, ok)
			assert.Equal(t, []any{e.N, e.Of, e.At, e.Run, e.Event}, []any{h.n, h.of, h.at, h.run, h.event})
			if ValidSession(text) == nil {
				assert.Equal(t, text, h.session)
			}
			assert.Equal(t, 1, bytes.Count(line, []byte("\n")))
			again, err := readEntry(line)
			require.NoError(t, err)
			assert.Equal(t, e, &again)
		}
	}
}
