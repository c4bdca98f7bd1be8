package project

import (
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
	"github.com/toolhost/toolhost/internal/toolset/anthropic"
	"github.com/toolhost/toolhost/internal/toolset/claude"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
	"github.com/toolhost/toolhost/internal/toolset/cliagent"
	"github.com/toolhost/toolhost/internal/toolset/codex"
	"github.com/toolhost/toolhost/internal/toolset/files"
	"github.com/toolhost/toolhost/internal/toolset/ocode"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// shippedPlugins maps the names of toolhost's own plugins: one for each toolset of package shipped, and
// the file tools.
func shippedPlugins() map[string]func() sdk.Plugin {
	return map[string]func() sdk.Plugin{
		"agentbench": agentbench.Plugin,
		"anthropic":  anthropic.Plugin,
		"claude":     claude.Plugin,
		"clemini":    clemini.Plugin,
		"cliagent":   cliagent.Plugin,
		"codex":      codex.Plugin,
		"files":      files.Plugin,
		"ocode":      ocode.Plugin,
	}
}

func shippedPlugin(name string) (sdk.Plugin, bool) {
	plugin, ok := shippedPlugins()[name]
	if !ok {
		return sdk.Plugin{}, false
	}
	return plugin(), true
}
