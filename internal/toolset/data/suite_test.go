package data_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/data"
)

// TestComplianceSuite runs the JSONPath compliance suite, the cts.json of the
// repository jsonpath-standard/jsonpath-compliance-test-suite that
// TOOLHOST_JSONPATH_SUITE names. Without it TestQuery has such queries.
func TestComplianceSuite(t *testing.T) {
	path := testneed.Given(t, "TOOLHOST_JSONPATH_SUITE", "a cts.json")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var suite struct {
		Tests []struct {
			Name            string            `json:"name"`
			Selector        string            `json:"selector"`
			Document        json.RawMessage   `json:"document"`
			Result          json.RawMessage   `json:"result"`
			Results         []json.RawMessage `json:"results"`
			Paths           []string          `json:"result_paths"`
			InvalidSelector bool              `json:"invalid_selector"`
		} `json:"tests"`
	}
	require.NoError(t, json.Unmarshal(raw, &suite))
	require.Greater(t, len(suite.Tests), 600)
	for _, c := range suite.Tests {
		t.Run(c.Name, func(t *testing.T) {
			if c.InvalidSelector {
				_, err := data.Query(nil, c.Selector)
				assert.Error(t, err, c.Selector)
				return
			}
			doc, err := data.ReadJSON(c.Document)
			require.NoError(t, err)
			found, err := data.Query(doc, c.Selector)
			require.NoError(t, err, c.Selector)
			values, paths := make([]any, len(found)), []string{}
			for i, f := range found {
				values[i] = f.Value
				paths = append(paths, f.Path)
			}
			got, err := data.WriteJSON(values, "")
			require.NoError(t, err)
			allowed := append(c.Results, c.Result)
			for _, want := range allowed {
				if len(want) > 0 && sameJSON(t, want, got) {
					if c.Paths != nil && len(c.Results) == 0 {
						assert.Equal(t, c.Paths, paths)
					}
					return
				}
			}
			t.Errorf("%s on %s gives %s, not %s", c.Selector, c.Document, got, allowed)
		})
	}
}

func sameJSON(t *testing.T, want json.RawMessage, got string) bool {
	var a, b any
	require.NoError(t, json.Unmarshal(want, &a))
	require.NoError(t, json.Unmarshal([]byte(got), &b))
	return assert.ObjectsAreEqual(a, b)
}
