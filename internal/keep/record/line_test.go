package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line is what encoding/json makes of its entry, whatever its texts hold, and
// its hash is that of these bytes after the hash before.
func TestLinesAreJSON(t *testing.T) {
	hard := []string{"", "s", "a \"b\" \\ c", "line\nbreak\ttab\x00\x7f", "<&>", "é \u2028 \U0001f600", "/a dir/b"}
	objects := []json.RawMessage{nil, []byte(`{}`), []byte(`{"a":"x\ny","event":[1,2.5e3,null]}`),
		[]byte(`{"long":"` + strings.Repeat("é", 3000) + `"}`)}
	for i, text := range hard {
		for j, object := range objects {
			e := &entry{N: int64(i*100 + j), At: "2026-01-02T03:04:05.000006Z", Session: text, Run: text, By: text,
				Event: text, Body: object, Prev: strings.Repeat("0", hashSize*(i%2)),
				More: object, Of: int64(i), Holds: text, Workspace: text}
			if j%2 == 0 {
				e.Blob = &blob{Hash: text, Bytes: int64(j), File: "f"}
			} else {
				e.Content = object
			}
			want, err := marshal(e)
			require.NoError(t, err)
			line, hash := e.seal("before")
			require.Equal(t, string(want[:len(want)-1])+`,"hash":"`+hash+"\"}\n", string(line))
			assert.Equal(t, chain("before", want[:len(want)-1]), hash)
			assert.Equal(t, 1, bytes.Count(line, []byte("\n")))
			again, _, err := readEntry(line)
			require.NoError(t, err)
			assert.Equal(t, e, &again)
		}
	}
}
