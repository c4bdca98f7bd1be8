package main

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/plugins/shipped"
)

// runInternal runs the parts of the program that it starts itself:
//
//	toolhost internal plugin NAME    a shipped plugin, for the plugin manager
//
// They are no part of the interface. ok is false for any other arguments.
func runInternal(args []string) (code int, ok bool) {
	if len(args) < 3 || args[0] != "internal" {
		return 0, false
	}
	switch args[1] {
	case "plugin":
		if err := shipped.Serve(args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "toolhost:", err)
			return exitUsage, true
		}
		return exitOK, true
	}
	return 0, false
}
