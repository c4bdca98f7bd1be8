package testrun

import (
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// python finds the interpreter of the project's virtual environment, else on PATH. Running a
// project's tests implies running its programs.
func (j *job) python() (string, error) {
	for _, name := range []string{".venv/bin/python", "venv/bin/python", `.venv/Scripts/python.exe`,
		`venv/Scripts/python.exe`} {
		candidate := path.Join(j.dir, name)
		if info, err := j.workspace.Lstat(candidate); err == nil && !info.IsDir() {
			return filepath.Join(j.workspace.Root(), filepath.FromSlash(candidate)), nil
		}
	}
	if program, err := proc.LookPath("python3", j.workspace.Root()); err == nil {
		return program, nil
	}
	program, err := proc.LookPath("python", j.workspace.Root())
	if err != nil {
		return "", tool.Errorf(tool.CommandNotFound, "neither python3 nor python is installed").
			Suggest("Install Python, or make a virtual environment in .venv.")
	}
	return program, nil
}

type pytest struct{}

func (pytest) command(j *job) ([]string, error) {
	program, err := j.python()
	if err != nil {
		return nil, err
	}
	argv := []string{program, "-m", "pytest", "--junitxml=" +
		filepath.Join(j.scratch, "report.xml"), "-o", "junit_family=xunit1", "--color=no"}
	if j.Verbose {
		argv = append(argv, "-v")
	}
	if j.Coverage {
		argv = append(argv, "--cov", "--cov-report=json:"+filepath.Join(j.scratch, "coverage.json"))
	}
	switch {
	case j.target == "":
	case j.exists || strings.Contains(j.target, "::"):
		argv = append(argv, "--", j.target)
	default:
		argv = append(argv, "-k", j.target)
	}
	return argv, nil
}

type junit struct {
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Cases []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	File    string      `xml:"file,attr"`
	Line    int         `xml:"line,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Skipped *junitFault `xml:"skipped"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (f *junitFault) message() string {
	if text := strings.TrimSpace(f.Text); text != "" {
		return text
	}
	return f.Message
}

func (pytest) read(j *job, ended *proc.Result, r *Report) bool {
	data, err := j.readScratch("report.xml")
	var report junit
	if err != nil || xml.Unmarshal(data, &report) != nil {
		explainPytest(ended, r)
		return len(r.Warnings) > 0
	}
	for _, suite := range report.Suites {
		for _, c := range suite.Cases {
			j.countJUnit(c, r)
		}
	}
	if ended.ExitCode == noTestsCollected && r.Failed == 0 {
		r.warn("pytest found no tests")
	}
	if j.Coverage {
		r.Coverage = j.pythonCoverage()
	}
	return true
}

// noTestsCollected is pytest's exit code.
const noTestsCollected = 5

// explainPytest adds what is usually missing.
func explainPytest(ended *proc.Result, r *Report) {
	text := ended.Stderr.String()
	switch {
	case strings.Contains(text, "No module named pytest"):
		r.warn("pytest is not installed for this Python; install it into the project's .venv, or use framework unittest")
	case strings.Contains(text, "unrecognized arguments: --cov"):
		r.warn("coverage needs the package pytest-cov; install it, or leave coverage out")
	}
}

func (j *job) countJUnit(c junitCase, r *Report) {
	fault := c.Failure
	if fault == nil {
		fault = c.Error
	}
	switch {
	case fault != nil:
		r.Failed++
		f := Failure{Name: c.Name, File: j.inWorkspace(c.File), Message: fault.message()}
		if c.Class != "" {
			f.Name = c.Class + "." + c.Name
		}
		if c.File != "" {
			f.Line = c.Line + 1 // pytest counts lines from 0
		}
		r.fail(f)
	case c.Skipped != nil:
		r.Skipped++
	default:
		r.Passed++
	}
}

func (j *job) pythonCoverage() *Coverage {
	data, err := j.readScratch("coverage.json")
	var report struct {
		Totals struct {
			Percent *float64 `json:"percent_covered"`
		} `json:"totals"`
	}
	if err != nil || json.Unmarshal(data, &report) != nil || report.Totals.Percent == nil {
		j.report.warn("there is no coverage: no report was written")
		return nil
	}
	return &Coverage{Percent: round(*report.Totals.Percent), Of: "statements"}
}

// unittestScript runs unittest with its own command line, and writes each
// test's result to the file named first. unittest itself has no
// machine-readable report.
//
//go:embed unittest_report.py
var unittestScript string

type unittest struct{}

func (unittest) command(j *job) ([]string, error) {
	program, err := j.python()
	if err != nil {
		return nil, err
	}
	argv := []string{program, "-c", unittestScript, filepath.Join(j.scratch, "report.json"),
		filepath.Join(j.scratch, "coverage.json"), yes(j.Coverage)}
	switch file, member, named := strings.Cut(j.target, "::"); {
	case j.target == "" || j.target == ".":
		argv = append(argv, "discover")
	case j.exists && j.isDir:
		argv = append(argv, "discover", "-s", j.target, "-t", ".")
		if !j.has(j.dir, path.Join(j.target, "__init__.py")) {
			argv = argv[:len(argv)-2]
		}
	case j.exists:
		argv = append(argv, moduleName(j.target))
	case named && j.has(j.dir, file): // as pytest names a test
		argv = append(argv, moduleName(file)+"."+strings.ReplaceAll(member, "::", "."))
	case looksLikePattern(j.target):
		argv = append(argv, "discover", "-k", j.target)
	default:
		argv = append(argv, j.target)
	}
	if j.Verbose {
		argv = append(argv, "-v") // behind discover, which must be first
	}
	return argv, nil
}

// moduleName returns a file's name for import.
func moduleName(file string) string {
	return strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
}

// byHand returns the same command without the report.
func byHand(argv []string) []string {
	script := slices.Index(argv, unittestScript)
	if script < 0 {
		return argv
	}
	const ownArguments = 3
	return slices.Concat(argv[:script-1], []string{"-m", "unittest"}, argv[script+1+ownArguments:])
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

var pythonFrame = regexlimit.Lazy(`(?m)^\s*File "(.+)", line (\d+)`)

// blame gives a failure its last traceback line in the workspace: a file that cannot be imported has no
// other place.
func (j *job) blame(f *Failure) {
	for _, frame := range pythonFrame().FindAllStringSubmatch(f.Message, -1) {
		if file := j.inWorkspace(frame[1]); !filepath.IsAbs(file) {
			f.File = file
			f.Line, _ = strconv.Atoi(frame[2])
		}
	}
}

func (unittest) read(j *job, _ *proc.Result, r *Report) bool {
	r.Command = byHand(r.Command)
	data, err := j.readScratch("report.json")
	var report struct {
		Passed   int
		Skipped  int
		Failures []Failure
		Warnings []string
	}
	if err != nil || json.Unmarshal(data, &report) != nil {
		return false
	}
	r.Passed, r.Skipped, r.Failed = report.Passed, report.Skipped, len(report.Failures)
	for _, f := range report.Failures {
		if f.File = j.inWorkspace(f.File); f.File == "" || filepath.IsAbs(f.File) {
			j.blame(&f)
		}
		r.fail(f)
	}
	r.Warnings = append(r.Warnings, report.Warnings...)
	if j.Coverage && len(report.Warnings) == 0 {
		r.Coverage = j.pythonCoverage()
	}
	return true
}
