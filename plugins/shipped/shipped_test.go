package shipped_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/toolset"
	"github.com/toolhost/toolhost/plugins/shipped"
)

// TestToolsetsHavePlugins holds the list of toolsets and that of plugins
// together: each plugin but that of the file tools serves a toolset.
func TestToolsetsHavePlugins(t *testing.T) {
	serving := []string{"files"}
	for _, set := range toolset.All() {
		if set.Plugin {
			serving = append(serving, set.Name)
		}
	}
	assert.ElementsMatch(t, serving, shipped.Names())
	for _, name := range shipped.Names() {
		p, ok := shipped.Lookup(name)
		assert.True(t, ok)
		assert.Equal(t, name, p.Name)
	}
	_, ok := shipped.Lookup("nobody")
	assert.False(t, ok)
}
