// Toolhost turns a project's agent.hcl into tools for AI agents and runs their calls safely. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/project"
)

// endsWithin bounds the orderly end after a signal: some waits, as for a pipe opened as a file, ignore it.
const endsWithin = 20 * time.Second

func main() {
	os.Exit(run(os.Args[1:]))
}

// collectLate starts garbage collection at 40 MiB: earlier, it took a tenth of the time of a call, and of a
// shipped plugin's start.
func collectLate() {
	const late, usual = 1000, 100
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(late)
	runtime.AddCleanup(new([2]*int), func(int) {
		if percent := debug.SetGCPercent(usual); percent != late { // a server set its own
			debug.SetGCPercent(percent)
		}
	}, 0)
}

// run is main without the exit. The program re-executes itself for shipped plugins, which comes first, to start
// quickly.
func run(args []string) int {
	collectLate()
	if code, ok := project.Reexec(args); ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	over := context.AfterFunc(ctx, func() {
		time.Sleep(endsWithin)
		os.Exit(exitInterrupted)
	})
	defer over()
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	return a.execute(ctx, args)
}
