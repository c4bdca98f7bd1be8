package ocode

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/ocode/testrun"
)

type testRunnerParams struct {
	Framework string `json:"framework"`
	Path      string `json:"path"`
	Verbose   bool   `json:"verbose"`
	Coverage  bool   `json:"coverage"`
}

func runTestRunner(ctx context.Context, deps Deps, call *tool.Call, p testRunnerParams) (*outcome, error) {
	o := &outcome{}
	options := testrun.Options{Prepare: o.Confining(deps.Prepare)}
	request := testrun.Request{Framework: testrun.Framework(p.Framework), Path: p.Path, Verbose: p.Verbose,
		Coverage: p.Coverage}
	scratch := filepath.Join(deps.Workspace.Root(), ".agent", "cache", "testrun")
	if call.ArtifactDir != "" {
		scratch = filepath.Join(call.ArtifactDir, "logs", fmt.Sprintf("tool_step_%04d", call.Step))
	}
	report, err := testrun.New(deps.Workspace, options).Run(ctx, request, scratch, func(_, line string) {
		call.Progress(ctx, tool.Progress{Message: line})
	})
	if tool.CodeOf(err) == tool.NotFound {
		return nil, err // it found no tests; the error is not about p.Path
	}
	if err != nil {
		return nil, pathError(err, p.Path)
	}
	p.report(o, report)
	return o, p.failure(report)
}

func (p testRunnerParams) report(o *outcome, r *testrun.Report) {
	o.output = r.Text(p.Verbose)
	o.Truncated = r.Truncated
	o.metadata = facts{
		"framework": r.Framework, "command": r.Command, "passed": r.Passed, "failed": r.Failed, "skipped": r.Skipped,
		"duration": r.Duration.Seconds(), "exit_code": r.ExitCode,
		"failures": append([]testrun.Failure{}, r.Failures...),
	}
	if r.Coverage != nil {
		o.set("coverage", r.Coverage)
	}
	if r.OutputPath != "" {
		o.set("output_path", r.OutputPath)
	}
	for _, warning := range r.Warnings {
		o.warn(warning)
	}
}

func (p testRunnerParams) failure(r *testrun.Report) error {
	text := strings.TrimRight(r.Text(p.Verbose), "\n")
	switch {
	case r.TimedOut:
		return tool.Errorf(tool.Timeout, "Tests did not finish within %s\n%s", testrun.DefaultTimeout, text).
			Suggest("Name fewer tests in path.")
	case r.OK():
		return nil
	case r.Failed > 0:
		return tool.Errorf(tool.CommandFailed, "Tests failed: %d of %d\n%s", r.Failed, r.Passed+r.Failed+r.Skipped,
			text).
			Suggest("Look at the failures, fix the code or the tests, and run them again.")
	}
	return tool.Errorf(tool.CommandFailed, "Tests could not be run: %s ended with exit code %d\n%s", r.Framework,
		r.ExitCode, text).
		Suggest("Read its output, and make sure that the project builds and its dependencies are installed.")
}
