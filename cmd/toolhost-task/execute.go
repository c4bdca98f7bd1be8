package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/go-task/task/v3"
	taskerrors "github.com/go-task/task/v3/errors"
	"github.com/go-task/task/v3/taskfile/ast"

	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

type execution struct {
	*request
	stdout, stderr io.Writer
	notes          []string
}

// run checks what can be checked, then runs in a fresh executor: a used one would keep computed
// variables and skip tasks that run once.
func (e *execution) run(ctx context.Context) protocol.Report {
	l, err := load(ctx, e.request)
	if err != nil {
		return e.fail(err)
	}
	if !e.list && !e.listAll {
		for _, name := range e.names {
			if report, ok := e.find(l, name); !ok {
				fmt.Fprintln(e.stderr, "task:", report.Message)
				return report
			}
		}
	}
	if err := e.start(ctx, l); err != nil {
		return e.failRun(err)
	}
	return protocol.Report{Kind: protocol.OK, Notes: e.notes}
}

// fail prints an error as task does and reports it.
func (e *execution) fail(err error) protocol.Report {
	fmt.Fprintln(e.stderr, stripColours(err.Error()))
	report := classify(err)
	report.Notes = e.notes
	return report
}

// failRun is fail for an error after the Taskfile was read: a variable that cannot be computed is a
// failed run and not a broken file.
func (e *execution) failRun(err error) protocol.Report {
	report := e.fail(err)
	if report.Kind == protocol.Broken && !isTaskfileError(err) {
		report.Kind, report.Problem = protocol.Failed, nil
	}
	return report
}

// find checks that name can be run, so that go-task does not print its list.
func (e *execution) find(l *loaded, name string) (protocol.Report, bool) {
	call := &task.Call{Task: name}
	found, err := l.executor.GetTask(call)
	switch {
	case err != nil && is[*taskerrors.TaskNotFoundError](err):
		return protocol.Report{
			Kind: protocol.NotFound, ExitCode: taskerrors.CodeTaskNotFound,
			Message: fmt.Sprintf("Task %q does not exist", name), Near: l.near(name),
		}, false
	case err != nil:
		return classify(err), false
	case found.Internal:
		return protocol.Report{
			Kind: protocol.NotFound, ExitCode: taskerrors.CodeTaskInternal,
			Message: fmt.Sprintf("Task %q is internal", name), Near: l.near(name),
		}, false
	}
	if report, ok := e.checkWildcards(call); !ok {
		return report, false
	}
	if !forThisPlatform(found.Platforms) {
		e.notes = append(e.notes,
			fmt.Sprintf("Task %q is not for this platform (%s/%s): nothing was run.", name, runtime.GOOS,
				runtime.GOARCH))
	}
	if found.Watch {
		e.notes = append(e.notes, fmt.Sprintf("Task %q is meant to watch for changes; it was run once.", name))
	}
	return protocol.Report{}, true
}

// checkWildcards refuses shell characters in the caller's part of a task's name ("*"): a Taskfile
// inserts it into command lines unchanged.
func (e *execution) checkWildcards(call *task.Call) (protocol.Report, bool) {
	if !e.exact && e.report == "" {
		return protocol.Report{}, true
	}
	match, _ := call.Vars.Get("MATCH")
	parts, _ := match.Value.([]string)
	for _, part := range parts {
		if strings.ContainsFunc(part, notPlain) {
			return protocol.Report{
				Kind: protocol.Refused, ExitCode: taskerrors.CodeTaskNotFound,
				Message: fmt.Sprintf("%q has characters that a shell would interpret, and the Taskfile "+
					"leaves the name open", call.Task),
			}, false
		}
	}
	return protocol.Report{}, true
}

func notPlain(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !strings.ContainsRune("_./:@%+,=-", c)
}

func forThisPlatform(platforms []*ast.Platform) bool {
	return len(platforms) == 0 || slices.ContainsFunc(platforms, func(p *ast.Platform) bool {
		return (p.OS == "" || p.OS == runtime.GOOS) && (p.Arch == "" || p.Arch == runtime.GOARCH)
	})
}

func (e *execution) start(ctx context.Context, l *loaded) error {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer stdin.Close()
	executor := task.NewExecutor(e.options(l, stdin)...)
	if err := executor.Setup(); err != nil {
		return err
	}
	if e.list || e.listAll {
		_, err := executor.ListTasks(task.NewListOptions(e.list, e.listAll, e.json, true, false))
		return err
	}
	if err := e.setVariables(executor); err != nil {
		return err
	}
	calls := make([]*task.Call, len(e.names))
	for i, name := range e.names {
		calls[i] = &task.Call{Task: name}
		if t, err := executor.GetTask(&task.Call{Task: name}); err == nil {
			t.Watch = false // a watcher ignores cancellation and ends the program itself
		}
	}
	if e.status {
		return executor.Status(ctx, calls...)
	}
	return executor.Run(ctx, calls...)
}

func (e *execution) options(l *loaded, stdin *os.File) []task.ExecutorOption {
	options := []task.ExecutorOption{
		task.WithDir(e.dir), task.WithEntrypoint(e.taskfile),
		task.WithStdin(stdin), task.WithStdout(e.stdout), task.WithStderr(e.stderr),
		task.WithOffline(true), task.WithColor(false), task.WithDisableFuzzy(true),
		task.WithAssumeYes(false), task.WithInteractive(false), task.WithVersionCheck(true),
		task.WithSilent(e.silent), task.WithVerbose(e.verbose), task.WithForceAll(e.force),
		task.WithDry(e.dry || e.status), task.WithParallel(e.parallel), task.WithFailfast(e.failfast),
		task.WithSummary(e.summary),
	}
	if e.sort == "none" {
		options = append(options, task.WithTaskSorter(l.sort))
	}
	if e.output != "" {
		options = append(options, task.WithOutputStyle(ast.Output{Name: e.output}))
	}
	return options
}

// setVariables sets the arguments as task does: quoted in CLI_ARGS and plain in CLI_ARGS_LIST.
func (e *execution) setVariables(executor *task.Executor) error {
	globals := ast.NewVars()
	for _, v := range e.variables {
		globals.Set(v.name, ast.Var{Value: v.value})
	}
	executor.Taskfile.Vars.Merge(globals, nil)
	quoted, err := quoteWords(e.arguments)
	if err != nil {
		return err
	}
	special := ast.NewVars()
	for name, value := range map[string]any{
		"CLI_ARGS": quoted, "CLI_ARGS_LIST": escapeWords(e.arguments),
		"CLI_FORCE": e.force, "CLI_SILENT": e.silent, "CLI_VERBOSE": e.verbose,
		"CLI_OFFLINE": false, "CLI_ASSUME_YES": false,
	} {
		special.Set(name, ast.Var{Value: value})
	}
	executor.Taskfile.Vars.ReverseMerge(special, nil)
	return nil
}

func send(to string, report protocol.Report) error {
	if to == "" {
		return nil
	}
	file, err := openReport(to)
	if err != nil {
		return err
	}
	defer file.Close()
	return json.NewEncoder(file).Encode(report)
}
