package project

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/internal/run/reexec"
)

// Reexec runs the part of the program that it starts itself: toolhost internal plugin
// NAME, a shipped plugin, for the plugin manager. It is no part of the interface. ok
// is false for any other start.
func Reexec(args []string) (code int, ok bool) {
	reexec.Answers()
	if len(args) < 3 || args[0] != "internal" || args[1] != "plugin" {
		return 0, false
	}
	if err := serveShipped(args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "toolhost:", err)
		return 2, true
	}
	return 0, true
}
