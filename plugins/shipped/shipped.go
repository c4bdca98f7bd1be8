// Package shipped lists the plugins that are part of the toolhost binary.
package shipped

import (
	"fmt"

	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/agentbench"
	"github.com/toolhost/toolhost/plugins/shipped/clemini"
	"github.com/toolhost/toolhost/plugins/shipped/cliagent"
	"github.com/toolhost/toolhost/plugins/shipped/files"
	"github.com/toolhost/toolhost/plugins/shipped/ocode"
)

// Names lists the shipped plugins, sorted.
func Names() []string { return []string{"agentbench", "clemini", "cliagent", "files", "ocode"} }

// Lookup gives the shipped plugin of a name. It fits plugins.Options.Shipped.
func Lookup(name string) (sdk.Plugin, bool) {
	switch name {
	case "agentbench":
		return agentbench.Plugin(), true
	case "clemini":
		return clemini.Plugin(), true
	case "cliagent":
		return cliagent.Plugin(), true
	case "files":
		return files.Plugin(), true
	case "ocode":
		return ocode.Plugin(), true
	}
	return sdk.Plugin{}, false
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
