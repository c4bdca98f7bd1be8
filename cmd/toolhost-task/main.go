// Command toolhost-task lists and runs the commands of a Taskfile. It alone links go-task, whose weight
// would slow every other start; toolhost starts it once for each listing and each run.
//
// Two forms are toolhost's own:
//
//	toolhost-task --describe --dir DIR --taskfile FILE
//	toolhost-task --exact NAME --dir DIR --taskfile FILE [--report fd:3|FILE] [-- ARGS...]
//
// The first prints the listing as JSON and runs nothing of the Taskfile. The second runs one command:
// its output passes through unchanged, the exit code is the command's, and the outcome goes as JSON to
// the report.
//
// Otherwise it reads its arguments as task does, for the options in its usage, so that a Taskfile whose
// commands call {{.TASK_EXE}} works.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	taskerrors "github.com/go-task/task/v3/errors"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

func main() {
	collectAsUsual()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// collectAsUsual undoes toolhost's GC setting for the start. The packages' own memory is no garbage, so
// the heap may first grow fourfold.
func collectAsUsual() {
	if os.Getenv(protocol.Collection) == protocol.CollectLate {
		os.Unsetenv(protocol.Collection)
		debug.SetGCPercent(400)
	}
}

func run(args []string, stdout, stderr io.Writer) (code int) {
	if buildinfo.Answer(args, "toolhost-task", stdout) {
		return 0
	}
	req, err := parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "toolhost-task: %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if req.describe {
		return describe(ctx, req, stdout)
	}
	closeReportOnExec(req.report)
	report := execute(ctx, req, stdout, stderr)
	if err := send(req.report, report); err != nil {
		fmt.Fprintf(stderr, "toolhost-task: cannot send the report: %v\n", err)
	}
	if report.Kind == protocol.Failed && !req.strict() && req.report == "" && !req.exitCode {
		return taskerrors.CodeTaskRunError
	}
	return report.ExitCode
}

// execute runs req. Even a panic in the library leads to a report.
func execute(ctx context.Context, req *request, stdout, stderr io.Writer) (report protocol.Report) {
	defer func() {
		if p := recover(); p != nil {
			report = protocol.Report{Kind: protocol.Internal, ExitCode: 1,
				Message: fmt.Sprintf("go-task failed unexpectedly: %v", p)}
			fmt.Fprintln(stderr, "toolhost-task:", report.Message)
		}
	}()
	e := &execution{request: req, stdout: stdout, stderr: stderr}
	return e.run(ctx)
}
