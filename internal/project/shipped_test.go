package project

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/toolset"
)

// TestToolsetsHavePlugins compares toolsets with plugins: each plugin but that of the file tools serves
// a toolset.
func TestToolsetsHavePlugins(t *testing.T) {
	serving := []string{"files"}
	for _, set := range toolset.All() {
		if set.Plugin {
			serving = append(serving, set.Name)
		}
	}
	names := slices.Collect(maps.Keys(shippedPlugins()))
	assert.ElementsMatch(t, serving, names)
	for _, name := range names {
		p, ok := shippedPlugin(name)
		assert.True(t, ok)
		assert.Equal(t, name, p.Name)
	}
	_, ok := shippedPlugin("nobody")
	assert.False(t, ok)
}
