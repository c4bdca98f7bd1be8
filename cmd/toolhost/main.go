// Toolhost turns a project's agent.hcl into tools that any AI agent can call,
// and runs those calls safely. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/toolhost/toolhost/internal/project"
)

// endsWithin bounds how long a signal has the program end in good order: some
// waits, as for a pipe that a file turned out to be, ignore it.
const endsWithin = 20 * time.Second

func main() {
	os.Exit(run(os.Args[1:]))
}

// collectLate has a command that ends soon collect no garbage below some 40 MiB, which
// was a tenth of the time of a call. One that needs more collects as every program does.
func collectLate() {
	const late, usual = 1000, 100
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(late)
	runtime.AddCleanup(new([2]*int), func(int) {
		if percent := debug.SetGCPercent(usual); percent != late { // a server has its own
			debug.SetGCPercent(percent)
		}
	}, 0)
}

// run is main without the exit. The program also re-executes itself for
// parts of its work; those entries come first, because they must not pay for
// anything else.
func run(args []string) int {
	if code, ok := project.Reexec(args); ok {
		return code
	}
	collectLate()
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
