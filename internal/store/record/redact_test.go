package record_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/record"
)

func TestEventsAreRedacted(t *testing.T) {
	r := recorder(t, func(o *record.Options) { o.Secrets = []string{"s3cret-value"} })
	long := strings.Repeat("a", 16<<10-5) + "s3cret-value"
	require.NoError(t, r.Event(t.Context(), "s", "e",
		map[string]any{"params": map[string]any{"args": "x s3cret-value", "long": long}}))
	line := lines(t, filepath.Join(r.ArtifactDir("s"), "events.jsonl"))[0]
	assert.Contains(t, line, `"args":"x [redacted]"`)
	assert.NotContains(t, line, "s3cr", "a secret is taken out before a text is cut")
}

// A truncated text is searched only as far as a secret at the cut can reach.
func TestSecretsAtTheCut(t *testing.T) {
	secret := "s3cret-" + strings.Repeat("v", 3000)
	r := recorder(t, func(o *record.Options) { o.Secrets = []string{secret} })
	fill := strings.Repeat(secret, 20)
	for shift := range 40 {
		text := fill + strings.Repeat("a", 200*shift) + secret + strings.Repeat("b", 100_000)
		require.NoError(t, r.Event(t.Context(), "s", "e", map[string]any{"text": text}))
	}
	for _, line := range lines(t, filepath.Join(r.ArtifactDir("s"), "events.jsonl")) {
		assert.NotContains(t, line, "s3c")
		assert.NotContains(t, line, "vvv")
		assert.Contains(t, line, "bytes left out]")
	}
}
