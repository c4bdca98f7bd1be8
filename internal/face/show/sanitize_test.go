package show_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/face/show"
)

func TestSaid(t *testing.T) {
	for _, x := range []struct{ said, shown string }{
		{"Reads a file.\r\nWith care.", "Reads a file.\nWith care."},
		{"\u26a0\ufe0f Überall\u00a0hier → 日本語", "\u26a0 Überall hier → 日本語"},
		{"a\x1b[2Kb\rc", `a\x1b[2Kb\rc`},
		{"a\u202eb\u200bc\U000e0041", `a\u202eb\u200bc\U000e0041`},
	} {
		assert.Equal(t, x.shown, show.Sanitize(x.said, 100))
	}
	assert.Equal(t, "aaa [... 7 bytes left out]", show.Sanitize(strings.Repeat("a", 10), 3))
	assert.Equal(t, "ä [... 4 bytes left out]", show.Sanitize("äää", 3))
	assert.Equal(t, `one\ntwo three`, show.SanitizeLine("one\ntwo\tthree", 100))
}

func TestSchema(t *testing.T) {
	same := `{"type":"object", "properties":{"b":{"type":"string","pattern":"^\\d+$"},"a":{"const":1.50}}}`
	said, clear := show.Schema(json.RawMessage(same), 1000)
	assert.Equal(t, same, string(said), "as it was written")
	assert.True(t, clear)

	said, clear = show.Schema(json.RawMessage(`{"type":"object","t\u0069tle":"x\u001b[2K",`+
		`"properties":{"title":{"type":"string","description":"\u202ehidden"},`+
		`"n":{"const":12345678901234567890}},"x":[true,null,1.50,"<a>"]}`), 1000)
	assert.Equal(t, `{"type":"object","title":"x\\x1b[2K","properties":{"title":{"type":"string",`+
		`"description":"\\u202ehidden"},"n":{"const":12345678901234567890}},"x":[true,null,1.50,"<a>"]}`, string(said))
	assert.True(t, clear)

	for _, unclear := range []string{`{"enum":["y\u200bes"]}`, `{"properties":{"\u001b":{}}}`, `{"default":"\u202e"}`,
		`{"default":"a\rb"}`} {
		said, clear = show.Schema(json.RawMessage(unclear), 1000)
		assert.False(t, clear, unclear)
		assert.JSONEq(t, unclear, string(said), "it is as it was")
	}
	for _, broken := range []string{`{"\u0061":`, `{"a\u0020":1}}`, "\x1b", `{`} {
		said, clear = show.Schema(json.RawMessage(broken), 1000)
		assert.False(t, clear, broken)
		assert.Nil(t, said)
	}
	long := `{"description":"` + strings.Repeat("a", 2000) + `"}`
	said, _ = show.Schema(json.RawMessage(long), 1000)
	assert.Less(t, len(said), 1100)
}

// FuzzSchema: the result is JSON of the same shape with unmistakable descriptions.
func FuzzSchema(f *testing.F) {
	f.Add(`{"title":"\u202e","enum":["a"],"properties":{"description":{"description":"x"}}}`)
	f.Add(strings.Repeat("1", 310))
	f.Fuzz(func(t *testing.T, text string) {
		said, _ := show.Schema(json.RawMessage(text), 64)
		if !json.Valid([]byte(text)) || said == nil {
			return
		}
		require.True(t, json.Valid(said), "%s", said)
		again, _ := show.Schema(said, 1<<20)
		assert.Equal(t, decoded(t, said), decoded(t, again))
	})
}

// decoded decodes JSON, with numbers as written: some are no float64.
func decoded(t *testing.T, data []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value), "%s", data)
	return value
}
