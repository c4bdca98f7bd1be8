// Toolhost turns a project's agent.hcl into tools that any AI agent can call,
// and runs those calls safely. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/toolhost/toolhost/internal/project"
)

// endsWithin bounds how long a signal has the program end in good order: some
// waits, as for a pipe that a file turned out to be, heed nothing.
const endsWithin = 20 * time.Second

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is main without the exit. The program also starts itself anew for
// parts of its work; those entries come first, because they must not pay for
// anything else.
func run(args []string) int {
	if code, ok := project.Anew(args); ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	over := context.AfterFunc(ctx, func() {
		time.Sleep(endsWithin)
		os.Exit(exitInterrupted)
	})
	defer over()
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	return a.execute(ctx, args)
}
