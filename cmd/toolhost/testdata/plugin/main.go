// Command plugin is a plugin for tests, whose version is set when it is built.
package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/sdk"
)

var version = "1.0.0"

func main() {
	type none struct{}
	sdk.Serve(sdk.Plugin{Name: "tell", Version: version, Tools: []sdk.Tool{
		sdk.Func(sdk.Definition{Name: "tell_version", Description: "Tell the version. Returns: the version.", Risk: sdk.ReadOnly},
			func(context.Context, *sdk.Call, none) (string, error) { return "version " + version, nil }),
		sdk.Func(sdk.Definition{Name: "tell_all", Description: "Tell everything. Returns: all.", Risk: sdk.Dangerous, Permissions: []sdk.Permission{sdk.Network}},
			func(context.Context, *sdk.Call, none) (string, error) { return "all", nil }),
	}})
}
