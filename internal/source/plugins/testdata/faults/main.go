// Command faults is a set of plugins with one fault each. The first argument names the fault; the other
// files implement them.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/plugins/sdk"
)

func main() {
	faults := map[string]func(){
		"none": func() {
			serve(func(context.Context) (*sdk.Result, error) {
				return sdk.Text("fine"),
					nil
			})
		},
		"start_slow":      startSlow,
		"start_exit":      startExit,
		"start_noise":     startNoise,
		"wrong_handshake": wrongHandshake,
		"wrong_protocol":  wrongProtocol,
		"newer":           newer,
		"crash":           crash,
		"hang":            hang,
		"deaf":            deaf,
		"huge_result":     hugeResult,
		"log_flood":       logFlood,
		"stdout_noise":    stdoutNoise,
		"leak":            leak,
		"panic":           panics,
		"bad_result":      badResult,
		"service_flood":   serviceFlood,
	}
	name := "none"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	if faults[name] == nil {
		fmt.Fprintln(os.Stderr, "there is no fault", name)
		os.Exit(2)
	}
	os.Args = os.Args[:1]
	faults[name]()
}

type none struct{}

// serve serves a plugin with the faulty tool "go" and the correct tool "ok".
func serve(do func(context.Context) (*sdk.Result, error)) { serveWith(do, nil) }

func serveWith(do func(context.Context) (*sdk.Result, error),
	call func(context.Context, *sdk.Call) (*sdk.Result, error)) {
	if call == nil {
		call = func(ctx context.Context, _ *sdk.Call) (*sdk.Result, error) { return do(ctx) }
	}
	definition := func(name string) sdk.Definition {
		return sdk.Definition{Name: name, Description: "Do it. Returns: text.", Risk: sdk.ReadOnly}
	}
	sdk.Serve(sdk.Plugin{Name: "fault", Version: "1.0.0", Services: []sdk.Service{sdk.ServiceState}, Tools: []sdk.Tool{
		sdk.Func(definition("go"),
			func(ctx context.Context, c *sdk.Call, _ none) (*sdk.Result, error) { return call(ctx, c) }),
		sdk.Func(definition("ok"), func(context.Context, *sdk.Call, none) (string, error) { return "fine", nil }),
	}})
}
