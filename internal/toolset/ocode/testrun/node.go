package testrun

import (
	"encoding/json"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// nodeProgram finds a program in node_modules of the project or a parent directory, as Node does.
func (j *job) nodeProgram(name string) (string, error) {
	for dir := j.dir; ; dir = path.Dir(dir) {
		candidate := path.Join(dir, "node_modules", ".bin", name)
		if info, err := j.workspace.Stat(candidate); err == nil && info.Mode().IsRegular() {
			return filepath.Join(j.workspace.Root(), filepath.FromSlash(candidate)), nil
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	program, err := proc.LookPath(name, j.workspace.Root())
	if err != nil {
		return "", tool.Errorf(tool.CommandNotFound, "%s is neither in node_modules nor on PATH", name).
			Suggest("Install the project's packages first, as `npm ci` does.")
	}
	return program, nil
}

type jest struct{}

func (jest) command(j *job) ([]string, error) {
	program, err := j.nodeProgram("jest")
	if err != nil {
		return nil, err
	}
	argv := []string{program, "--json", "--outputFile=" +
		filepath.Join(j.scratch, "report.json"), "--testLocationInResults", "--colors=false"}
	if j.Verbose {
		argv = append(argv, "--verbose")
	}
	if j.Coverage {
		argv = append(argv, "--coverage", "--coverageReporters=json-summary",
			"--coverageDirectory="+filepath.Join(j.scratch, "coverage"))
	}
	switch {
	case j.target == "" || j.target == ".":
	case j.exists && !j.isDir:
		argv = append(argv, "--runTestsByPath", j.target)
	case j.exists:
		argv = append(argv, regexp.QuoteMeta(j.target+"/"))
	case strings.HasPrefix(j.target, "-"):
		argv = append(argv, "--testNamePattern="+j.target)
	default:
		argv = append(argv, j.target)
	}
	return argv, nil
}

type jestReport struct {
	Passed  int `json:"numPassedTests"`
	Pending int `json:"numPendingTests"`
	Todo    int `json:"numTodoTests"`
	Failed  int `json:"numFailedTests"`
	Broken  int `json:"numRuntimeErrorTestSuites"`
	Suites  []struct {
		Name    string `json:"name"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Tests   []struct {
			FullName string   `json:"fullName"`
			Status   string   `json:"status"`
			Messages []string `json:"failureMessages"`
			Location *struct {
				Line int `json:"line"`
			} `json:"location"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

func (jest) read(j *job, ended *proc.Result, r *Report) bool {
	data, err := j.readScratch("report.json")
	var report jestReport
	if err != nil || json.Unmarshal(data, &report) != nil {
		return false
	}
	r.Passed, r.Skipped, r.Failed = report.Passed, report.Pending+report.Todo, report.Failed+report.Broken
	for _, suite := range report.Suites {
		file := j.inWorkspace(suite.Name)
		if suite.Status == "failed" && len(suite.Tests) == 0 {
			r.fail(Failure{Name: file, File: file, Message: strings.TrimSpace(suite.Message)})
		}
		for _, test := range suite.Tests {
			if test.Status != "failed" {
				continue
			}
			f := Failure{Name: test.FullName, File: file, Message: strings.TrimSpace(strings.Join(test.Messages, "\n"))}
			if test.Location != nil {
				f.Line = test.Location.Line
			}
			r.fail(f)
		}
	}
	// With --json the report also goes to stdout unless a file is named.
	if j.Coverage {
		r.Coverage = j.istanbulCoverage("coverage/coverage-summary.json")
	}
	return true
}

// istanbulCoverage reads Istanbul's json-summary report, of jest, nyc and c8.
func (j *job) istanbulCoverage(name string) *Coverage {
	data, err := j.readScratch(name)
	var report struct {
		Total struct {
			Lines struct {
				Percent json.Number `json:"pct"`
			} `json:"lines"`
		} `json:"total"`
	}
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	percent, numErr := report.Total.Lines.Percent.Float64()
	if err != nil || numErr != nil {
		j.report.warn("there is no coverage: no report was written")
		return nil
	}
	return &Coverage{Percent: round(percent), Of: "lines"}
}

type mocha struct{}

func (mocha) command(j *job) ([]string, error) {
	program, err := j.nodeProgram("mocha")
	if err != nil {
		return nil, err
	}
	argv := []string{program, "--no-color", "--reporter", "json", "--reporter-option", "output=" +
		filepath.Join(j.scratch, "report.json")}
	switch {
	case j.target == "" || j.target == ".":
	case j.exists && j.isDir:
		argv = append(argv, "--recursive", "./"+j.target)
	case j.exists:
		argv = append(argv, "./"+j.target)
	case strings.Contains(j.target, "/") || strings.Contains(j.target, "*"):
		argv = append(argv, "./"+strings.TrimPrefix(j.target, "./"))
	default:
		argv = append(argv, "--grep", j.target)
	}
	if !j.Coverage {
		return argv, nil
	}
	meter, err := j.nodeProgram("c8")
	if err != nil {
		j.report.warn("coverage needs the package c8; install it with npm, or leave coverage out")
		return argv, nil
	}
	return append([]string{meter, "--reporter=json-summary", "--reports-dir=" +
		filepath.Join(j.scratch, "coverage"), "--temp-directory=" + filepath.Join(j.scratch, "raw")}, argv...), nil
}

type mochaReport struct {
	Stats struct {
		Passes   int `json:"passes"`
		Pending  int `json:"pending"`
		Failures int `json:"failures"`
	} `json:"stats"`
	Failures []struct {
		FullTitle string `json:"fullTitle"`
		File      string `json:"file"`
		Err       struct {
			Message string `json:"message"`
			Stack   string `json:"stack"`
		} `json:"err"`
	} `json:"failures"`
}

func (mocha) read(j *job, ended *proc.Result, r *Report) bool {
	data, err := j.readScratch("report.json")
	var report mochaReport
	if err != nil || json.Unmarshal(data, &report) != nil {
		return false
	}
	r.Passed, r.Skipped, r.Failed = report.Stats.Passes, report.Stats.Pending, report.Stats.Failures
	for _, failure := range report.Failures {
		message := failure.Err.Stack
		if message == "" {
			message = failure.Err.Message
		}
		file := j.inWorkspace(failure.File)
		r.fail(Failure{Name: failure.FullTitle, File: file, Line: lineIn(message, path.Base(file)),
			Message: strings.TrimSpace(message)})
	}
	if j.Coverage && len(r.Warnings) == 0 {
		r.Coverage = j.istanbulCoverage("coverage/coverage-summary.json")
	}
	return true
}

var stackPosition = regexlimit.Lazy(`([^\s()/\\]+):(\d+):\d+\)?`)

// lineIn returns the line of a file that a stack trace names first.
func lineIn(stack, file string) int {
	for _, match := range stackPosition().FindAllStringSubmatch(stack, -1) {
		if match[1] == file {
			line, _ := strconv.Atoi(match[2])
			return line
		}
	}
	return 0
}
