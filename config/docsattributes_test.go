package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheDocsNameEverything requires docs/CONFIG.md to show every block and attribute of the grammar.
func TestTheDocsNameEverything(t *testing.T) {
	page, err := os.ReadFile("../docs/CONFIG.md")
	require.NoError(t, err)
	code := strings.Join(regexp.MustCompile("(?s)```hcl\n.*?```|`[^`\n]+`").FindAllString(string(page), -1), "\n")
	named := regexp.MustCompile(`\w+`).FindAllString(code, -1)
	slices.Sort(named)
	for form, schema := range grammar() {
		if strings.Contains(form, "lock file") {
			continue
		}
		for _, attribute := range schema.Attributes {
			_, ok := slices.BinarySearch(named, attribute.Name)
			assert.True(t, ok, "docs/CONFIG.md does not name %s of %s", attribute.Name, form)
		}
		for _, block := range schema.Blocks {
			_, ok := slices.BinarySearch(named, block.Type)
			assert.True(t, ok, "docs/CONFIG.md does not name the block %s of %s", block.Type, form)
		}
	}
}
