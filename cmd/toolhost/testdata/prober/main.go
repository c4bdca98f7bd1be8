// Prober does what it is told, to show what a process can do: as a command by its arguments, and
// without any as a plugin with one tool.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/toolhost/toolhost/plugins/sdk"
)

type input struct {
	Act  string `json:"act" jsonschema:"What to do: write, read or dial."`
	What string `json:"what" jsonschema:"With what: a path or an address."`
}

type output struct {
	Done string `json:"done" jsonschema:"What came of it."`
}

func try(_ context.Context, _ *sdk.Call, in input) (output, error) {
	return output{Done: outcome(in)}, nil
}

func outcome(in input) string {
	done, err := do(in)
	if err != nil {
		return "refused: " + err.Error()
	}
	return "did it: " + done
}

func do(in input) (string, error) {
	switch in.Act {
	case "write":
		return in.What, os.WriteFile(in.What, []byte("by the plugin"), 0o600)
	case "read":
		data, err := os.ReadFile(in.What)
		return string(data), err
	case "dial":
		conn, err := net.DialTimeout("tcp", in.What, 2*time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return in.What, err
	}
	return "", fmt.Errorf("there is no act %q", in.Act)
}

func main() {
	if len(os.Args) == 3 && os.Args[1] != "describe" {
		fmt.Println(outcome(input{Act: os.Args[1], What: os.Args[2]}))
		return
	}
	sdk.Serve(sdk.Plugin{
		Name: "prober", Version: "1.0.0",
		Tools: []sdk.Tool{sdk.Func(sdk.Definition{
			Name: "try", Description: "Do something. Returns: what came of it.", Risk: sdk.Dangerous,
		}, try)},
	})
}
