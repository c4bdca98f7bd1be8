package undo

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzLine checks that a line is read as it was written, whatever its names and content, and that parsing
// accepts any bytes.
func FuzzLine(f *testing.F) {
	f.Add("a", "b", []byte("content"))
	f.Add(`","data":"`, "\xff\x00\n", []byte{})
	f.Add(`{"bytes":"eA=="}`, `\",\"data\":\"eA==`, []byte(`,"data":"`))
	f.Fuzz(func(t *testing.T, path, session string, content []byte) {
		parseLine(content)
		l := &line{ID: "1", Op: "replace", Session: "s", Call: session, Path: pathName(path), Data: content}
		text, err := json.Marshal(l)
		require.NoError(t, err)
		assert.False(t, bytes.Contains(text, []byte("\n")))
		got := parseLine(text)
		require.NotNil(t, got)
		assert.Equal(t, path, string(got.Path))
		assert.Equal(t, string(content), string(got.Data))
	})
}
