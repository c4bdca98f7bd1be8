package project

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/internal/run/reexec"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Reexec runs a shipped plugin, for the plugin manager: toolhost internal plugin NAME, which is not a
// public interface. ok is false for other arguments.
func Reexec(args []string) (code int, ok bool) {
	reexec.Answers()
	if len(args) < 3 || args[0] != "internal" || args[1] != "plugin" {
		return 0, false
	}
	p, known := shippedPlugin(args[2])
	if !known {
		fmt.Fprintf(os.Stderr, "toolhost: no plugin named %q comes with toolhost\n", args[2])
		return 2, true
	}
	sdk.Serve(p)
	return 0, true
}
