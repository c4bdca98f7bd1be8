package schema_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
)

// generated are schemas as libraries write them. Cut is the text that is lost, may be ""; swap pairs what is
// spelled differently in 2020-12.
func generated(t testing.TB) (all []struct {
	Name, In, Cut string
	Swap          []string
}) {
	t.Helper()
	text, err := os.ReadFile("testdata/generated.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &all))
	require.GreaterOrEqual(t, len(all), 40)
	return all
}

// TestGeneratedSchemas checks that only what cannot be understood is lost, down to the order.
func TestGeneratedSchemas(t *testing.T) {
	for _, g := range generated(t) {
		t.Run(g.Name, func(t *testing.T) {
			want := g.In
			if g.Cut != "" {
				require.Contains(t, want, g.Cut)
				want = strings.Replace(want, g.Cut, "", 1)
			}
			want = strings.NewReplacer(g.Swap...).Replace(want)
			out, losses := schema.Parameters(json.RawMessage(g.In))
			assert.Equal(t, want, string(out))
			assert.Len(t, losses, strings.Count(g.Cut, `":`))
			compile(t, string(out))
		})
	}
}
