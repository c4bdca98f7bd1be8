// Command plugin is a test plugin; its version is set at build time.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/plugins/sdk"
)

var version = "1.0.0"

func main() {
	type none struct{}
	type settings struct {
		Token string `json:"token,omitempty" sensitive:"true"`
		Units string `json:"units" enum:"metric,imperial" default:"metric"`
	}
	token := ""
	sdk.Serve(sdk.Plugin{Name: "tell", Version: version, ConfigSchema: sdk.Schema[settings](),
		Configure: func(_ context.Context, env sdk.Env) ([]sdk.Tool, error) {
			var s settings
			err := env.Decode(&s)
			token = s.Token
			return nil, err
		}, Tools: []sdk.Tool{
			sdk.Func(sdk.Definition{Name: "tell_version", Description: "Tell the version. Returns: the version.",
				Risk: sdk.ReadOnly, Examples: []sdk.Example{{Params: []byte("{}")}}},
				func(context.Context, *sdk.Call, none) (string, error) { return "version " + version, nil }),
			sdk.Func(sdk.Definition{Name: "tell_token", Description: "Tell the token. Returns: the token.",
				Risk: sdk.ReadOnly},
				func(context.Context, *sdk.Call, none) (string, error) {
					fmt.Fprintln(os.Stderr, "the token is", token)
					return "the token is " + token, nil
				}),
			sdk.Func(sdk.Definition{Name: "tell_all", Description: "Tell everything. Returns: all.",
				Risk:        sdk.Dangerous,
				Permissions: []sdk.Permission{sdk.Network}},
				func(context.Context, *sdk.Call, none) (string, error) { return "all", nil }),
		}})
}
