package project

import (
	"fmt"

	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/agentbench"
	"github.com/toolhost/toolhost/plugins/shipped/clemini"
	"github.com/toolhost/toolhost/plugins/shipped/cliagent"
	"github.com/toolhost/toolhost/plugins/shipped/files"
	"github.com/toolhost/toolhost/plugins/shipped/ocode"
)

// shippedPlugins are the plugins that are part of toolhost, by their names: that
// of each toolset of package shipped, and the file tools.
func shippedPlugins() map[string]func() sdk.Plugin {
	return map[string]func() sdk.Plugin{
		"agentbench": agentbench.Plugin,
		"clemini":    clemini.Plugin,
		"cliagent":   cliagent.Plugin,
		"files":      files.Plugin,
		"ocode":      ocode.Plugin,
	}
}

// shippedPlugin gives the shipped plugin of a name. It fits
// plugins.Options.Shipped.
func shippedPlugin(name string) (sdk.Plugin, bool) {
	plugin, ok := shippedPlugins()[name]
	if !ok {
		return sdk.Plugin{}, false
	}
	return plugin(), true
}

// serveShipped runs the shipped plugin of a name until the host ends it, for
// "toolhost internal plugin NAME"; see [sdk.Serve].
func serveShipped(name string) error {
	p, ok := shippedPlugin(name)
	if !ok {
		return fmt.Errorf("no plugin named %q comes with toolhost", name)
	}
	sdk.Serve(p)
	return nil
}
