package project

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/fork"
	"github.com/toolhost/toolhost/internal/peer/plugins/install/buildcache"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/reexec"
)

// Anew runs the parts of the program that it starts itself:
//
//	toolhost internal plugin NAME      a shipped plugin, for the plugin manager
//	toolhost internal go-cache DIR     the cache of a go command that runs confined
//	toolhost internal fork ...         the way of a session into its fork
//
// and the supervisors of background tasks, which end the process. They are no
// part of the interface. ok is false for any other start.
func Anew(args []string) (code int, ok bool) {
	reexec.Answers()
	background.Main()
	if len(args) < 3 || args[0] != "internal" {
		return 0, false
	}
	var err error
	switch args[1] {
	case "plugin":
		err = serveShipped(args[2])
	case "fork":
		err = fork.Stage(args[2:])
	case "go-cache":
		err = buildcache.Serve(os.Stdin, os.Stdout, os.Getenv("GOCACHE"), args[2])
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "toolhost:", err)
		if next := tool.AsError(err).Suggestion; args[1] == "fork" && next != "" {
			fmt.Fprintln(os.Stderr, " ", next)
		}
		return 2, true
	}
	return 0, true
}
