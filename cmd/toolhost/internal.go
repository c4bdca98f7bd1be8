package main

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/internal/peer/plugins/install/buildcache"
	"github.com/toolhost/toolhost/plugins/shipped"
)

// runInternal runs the parts of the program that it starts itself:
//
//	toolhost internal plugin NAME      a shipped plugin, for the plugin manager
//	toolhost internal go-cache DIR     the cache of a go command that runs confined
//
// They are no part of the interface. ok is false for any other arguments.
func runInternal(args []string) (code int, ok bool) {
	if len(args) < 3 || args[0] != "internal" {
		return 0, false
	}
	var err error
	switch args[1] {
	case "plugin":
		err = shipped.Serve(args[2])
	case "go-cache":
		err = buildcache.Serve(os.Stdin, os.Stdout, os.Getenv("GOCACHE"), args[2])
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "toolhost:", err)
		return exitUsage, true
	}
	return exitOK, true
}
