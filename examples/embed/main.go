// Command embed serves the tools of an agent.hcl over MCP on its standard
// input and output:
//
//	embed path/to/agent.hcl
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/toolhost/toolhost"
)

func main() {
	toolhost.Main() // first: toolhost re-executes this program for parts of its work
	if err := serve(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, args []string) error {
	options := toolhost.Options{Name: "embed", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if len(args) > 0 {
		options.Config = args[0] // a file that the user names counts as approved
	}
	tools, err := toolhost.Open(ctx, options)
	if err != nil {
		return err
	}
	defer tools.Close()
	return tools.ServeStdio(ctx, os.Stdin, os.Stdout)
}
