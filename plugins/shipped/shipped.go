// Package shipped lists the plugins that are part of the toolhost binary.
package shipped

import (
	"fmt"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/agentbench"
	"github.com/toolhost/toolhost/plugins/shipped/clemini"
	"github.com/toolhost/toolhost/plugins/shipped/cliagent"
	"github.com/toolhost/toolhost/plugins/shipped/files"
	"github.com/toolhost/toolhost/plugins/shipped/ocode"
)

// plugins are the shipped plugins, by their names: those of the toolsets of
// package toolset, and the file tools.
func plugins() map[string]func() sdk.Plugin {
	return map[string]func() sdk.Plugin{
		"agentbench": agentbench.Plugin,
		"clemini":    clemini.Plugin,
		"cliagent":   cliagent.Plugin,
		"files":      files.Plugin,
		"ocode":      ocode.Plugin,
	}
}

// Names lists the shipped plugins, sorted.
func Names() []string { return slices.Sorted(maps.Keys(plugins())) }

// Lookup gives the shipped plugin of a name. It fits plugins.Options.Shipped.
func Lookup(name string) (sdk.Plugin, bool) {
	plugin, ok := plugins()[name]
	if !ok {
		return sdk.Plugin{}, false
	}
	return plugin(), true
}

// Serve runs the shipped plugin of a name until the host ends it, for
// "toolhost internal plugin NAME". It returns an error when there is none of
// that name; see [sdk.Serve] for the rest.
func Serve(name string) error {
	p, ok := Lookup(name)
	if !ok {
		return fmt.Errorf("no plugin named %q comes with toolhost", name)
	}
	sdk.Serve(p)
	return nil
}
