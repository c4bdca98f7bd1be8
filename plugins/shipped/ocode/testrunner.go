package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
	"github.com/toolhost/toolhost/plugins/shipped/ocode/testrun"
)

type testRunnerParams struct {
	Framework string `json:"framework"`
	Path      string `json:"path"`
	Verbose   bool   `json:"verbose"`
	Coverage  bool   `json:"coverage"`
}

func testRunner(deps Deps) tool.Tool {
	return newTool(deps, spec[testRunnerParams]{
		Definition: tool.Definition{
			Name:  "test_runner",
			Title: "Run tests",
			Description: "Runs the tests of a project with its own framework, confined as the operator says: pytest, unittest, jest, mocha or cargo, and Go's where the project is in Go. Without framework the project's files decide. " +
				"Returns: the counts, and each failure with its place and message; in metadata passed, failed, skipped, duration in seconds, failures and, if asked for, coverage. Tests that fail are an error with the same.",
			Category:    "development",
			Risk:        tool.Dangerous,
			Permissions: []tool.Permission{tool.ShellExec},
			Timeout:     testrun.DefaultTimeout + 30*time.Second,
			Examples: []tool.Example{
				{Params: json.RawMessage(`{}`)},
				{Description: "Some tests, with coverage", Params: json.RawMessage(`{"framework":"pytest","path":"tests/unit","coverage":true}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "framework", Type: "string", Enum: registry.Strings("pytest", "unittest", "jest", "mocha", "cargo"), Description: "The framework; found out when left out."},
			{Name: "path", Type: "string", Description: "A file, a directory, or a pattern as the framework knows it; all tests when left out."},
			{Name: "verbose", Type: "boolean", Default: false, Description: "Whether to show the output of tests that pass."},
			{Name: "coverage", Type: "boolean", Default: false, Description: "Whether to measure the share of the code that the tests reach."},
		},
		facts: `"framework":{"type":"string","description":"What ran the tests."},` +
			`"passed":{"type":"integer","description":"Tests that passed."},` +
			`"failed":{"type":"integer","description":"Tests that failed."},` +
			`"skipped":{"type":"integer","description":"Tests that were left out."},` +
			`"duration":{"type":"number","description":"How long the run took, in seconds."},` +
			`"failures":{"type":"array","items":{"type":"object"},"description":"Each with name, file, line and message."},` +
			`"coverage":{"type":"object","description":"Percent, and of what."},` +
			`"exit_code":{"type":"integer","description":"The exit code of the framework."},` +
			`"command":{"type":"array","items":{"type":"string"},"description":"What was run."},` +
			`"output_path":{"type":"string","description":"Where the whole output is, when it was cut."}`,
		aliases: aliases{{"pattern", "path", nil}, {"test_path", "path", nil}},
		run:     runTestRunner,
	})
}

func runTestRunner(ctx context.Context, deps Deps, call *tool.Call, p testRunnerParams) (*outcome, error) {
	o := &outcome{}
	options := testrun.Options{}
	if deps.Prepare != nil {
		options.Prepare = func(cmd *exec.Cmd) error {
			said, err := deps.Prepare(cmd)
			o.about = said
			return err
		}
	}
	request := testrun.Request{Framework: testrun.Framework(p.Framework), Path: p.Path, Verbose: p.Verbose, Coverage: p.Coverage}
	scratch := filepath.Join(deps.Workspace.Root(), ".agent", "cache", "testrun")
	if call.ArtifactDir != "" {
		scratch = filepath.Join(call.ArtifactDir, "logs", fmt.Sprintf("tool_step_%04d", call.Step))
	}
	report, err := testrun.New(deps.Workspace, options).Run(ctx, request, scratch, func(_, line string) {
		call.Progress(ctx, tool.Progress{Message: line})
	})
	if tool.CodeOf(err) == tool.NotFound {
		return nil, err // no tests, rather than no file
	}
	if err != nil {
		return nil, pathError(err, p.Path)
	}
	p.report(o, report)
	return o, p.failure(report)
}

func (p testRunnerParams) report(o *outcome, r *testrun.Report) {
	o.output = r.Text(p.Verbose)
	o.truncated = r.Truncated
	o.metadata = facts{
		"framework": r.Framework, "command": r.Command, "passed": r.Passed, "failed": r.Failed, "skipped": r.Skipped,
		"duration": r.Duration.Seconds(), "exit_code": r.ExitCode, "failures": append([]testrun.Failure{}, r.Failures...),
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

// failure is the error of tests that failed, or did not run.
func (p testRunnerParams) failure(r *testrun.Report) error {
	text := strings.TrimRight(r.Text(p.Verbose), "\n")
	switch {
	case r.TimedOut:
		return tool.Errorf(tool.Timeout, "Tests did not finish within %s\n%s", testrun.DefaultTimeout, text).
			Suggest("Name fewer tests in path.")
	case r.OK():
		return nil
	case r.Failed > 0:
		return tool.Errorf(tool.CommandFailed, "Tests failed: %d of %d\n%s", r.Failed, r.Passed+r.Failed+r.Skipped, text).
			Suggest("Look at the failures, fix the code or the tests, and run them again.")
	}
	return tool.Errorf(tool.CommandFailed, "Tests could not be run: %s ended with exit code %d\n%s", r.Framework, r.ExitCode, text).
		Suggest("Read what it printed, and see to it that the project builds and its dependencies are installed.")
}
