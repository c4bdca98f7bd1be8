// Command toolhost-plugin-cliagent is the cliagent plugin as a program of its
// own.
package main

import (
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/cliagent"
)

func main() { sdk.Serve(cliagent.Plugin()) }
