package docpages_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/docpages"
)

func tools() []docpages.Tool {
	return []docpages.Tool{
		{Source: "plugin weather", Definition: &tool.Definition{
			Name: "forecast", Title: "Forecast",
			Description: "Tell the weather. It is a guess.\nReturns: an object <b>.", Risk: tool.ReadOnly,
			Permissions: []tool.Permission{tool.Network}, Timeout: 3 * time.Second, Idempotent: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{
				"town":{"type":"string","description":"Where | or there.","minLength":1},
				"days":{"type":"integer","minimum":1,"maximum":9,"default":3},
				"units":{"type":"string","enum":["metric","a` + "`" + `b"]},
				"tags":{"type":"array","items":{"type":"string"}},
				"any":{}},"required":["town"]}`),
			Returns:  json.RawMessage(`{"type":"object","properties":{"text":{"type":["string","null"]}}}`),
			Examples: []tool.Example{{Description: "In Bern.", Params: json.RawMessage(`{"town": "it's Bern"}`)}},
		}},
		{Source: "builtin",
			Definition: &tool.Definition{Name: "again", Description: "Again. Returns: text.", Risk: tool.Dangerous,
				Returns: json.RawMessage(`{"type":"string"}`)}},
	}
}

func TestPages(t *testing.T) {
	pages := docpages.Pages("Tools", tools())
	assert.Len(t, pages, 3)
	for name, got := range pages {
		golden := filepath.Join("testdata", name)
		if os.Getenv("UPDATE_GOLDEN") == "1" {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, got, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}

func TestOrderOfToolsMakesNoDifference(t *testing.T) {
	other := tools()
	slices.Reverse(other)
	for range 20 {
		assert.Equal(t, docpages.Pages("Tools", tools()), docpages.Pages("Tools", other))
	}
}
