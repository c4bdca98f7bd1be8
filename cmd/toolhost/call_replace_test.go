package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryStandardToolCanBeReplaced declares a replacement for each standard tool, all in one file.
func TestEveryStandardToolCanBeReplaced(t *testing.T) {
	dir := t.TempDir()
	listed, stderr, code := runIn(t, dir, "list", "--toolset", "agent")
	require.Zero(t, code, stderr)
	var names []string
	for line := range strings.Lines(listed) {
		if name := strings.Fields(line)[0]; name != "NAME" {
			names = append(names, name)
		}
	}
	require.Len(t, names, 26)
	var file strings.Builder
	for _, name := range names {
		fmt.Fprintf(&file, "tool %q {\n  description = \"Mine. Returns: a line.\"\n  command { argv = [\"echo\", \"mine\"] }\n}\n", name)
	}
	plant(t, dir, texts{"agent.hcl": file.String()})
	listed, stderr, code = runIn(t, dir, "list")
	require.Zero(t, code, stderr)
	for _, name := range names {
		assert.Regexp(t, `(?m)^`+name+` +command +dangerous +Mine\.`, listed)
	}
	assert.Equal(t, 27, strings.Count(listed, "\n"), "nothing is listed twice")
}
