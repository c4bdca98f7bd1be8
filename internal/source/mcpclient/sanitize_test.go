package mcpclient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

func TestFormsThatNobodyCouldRead(t *testing.T) {
	form, err := formOf(json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","title":"Na\u202eme"}}}`))
	require.NoError(t, err)
	assert.Equal(t, `{"type":"object","properties":{"name":{"type":"string","title":"Na\\u202eme"}}}`, string(form))
	form, err = formOf(nil)
	require.NoError(t, err)
	assert.Empty(t, form)
	for name, schema := range map[string]any{
		"a choice":  json.RawMessage(`{"properties":{"x":{"enum":["yes\u200b","no"]}}}`),
		"a name":    json.RawMessage(`{"properties":{"x\u001b[2K":{"type":"string"}}}`),
		"a default": map[string]any{"default": "a\rb"},
		"long":      map[string]any{"pattern": strings.Repeat("x", saidForm)},
	} {
		_, err := formOf(schema)
		assert.Error(t, err, name)
	}
}

func TestWhatAServerListsIsSaid(t *testing.T) {
	l := &listing{Server: "s\x1b", Instructions: strings.Repeat("x", 100_000), Tools: []upstreamTool{{
		Name: "t\x1b", Title: "a\nb", Description: "d\u202e", Input: json.RawMessage(`{"description":"\u200b"}`),
		Output: json.RawMessage(strings.Repeat(" ", 300_000)),
	}}}
	l.sanitize()
	said := string(mustJSON(t, l))
	for _, hidden := range []string{"\u202e", "\u200b", `\u200b"`} {
		assert.NotContains(t, strings.ReplaceAll(said, `\\u`, "#"), hidden)
	}
	assert.Less(t, len(said), 20<<10)
	assert.Equal(t, `a\nb`, l.Tools[0].Title)
	assert.Equal(t, `{"description":"\\u200b"}`, string(l.Tools[0].Input))
	assert.Nil(t, l.Tools[0].Output)
	assert.Regexp(t, "^t__[0-9a-f]{8}$", tool.PortableName(l.Tools[0].Name, maxName), "the name that is shown")
	p, _ := saidPromptOf(&mcp.Prompt{Name: "p", Description: "\u202e",
		Arguments: []*mcp.PromptArgument{{Name: "a", Description: "\x1b"}}})
	assert.Equal(t, `\u202e`, p.Description)
	assert.Equal(t, `\x1b`, p.Arguments[0].Description)
	r, _ := saidResource(Resource{URI: "u", Name: "\u200b", Description: strings.Repeat("x", 100_000)})
	assert.Equal(t, `\u200b`, r.Name)
	assert.Less(t, len(r.Description), 17<<10)
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}
