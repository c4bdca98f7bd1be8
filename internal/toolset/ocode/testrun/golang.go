package testrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// goTest reads the events of go test -json as they come.
type goTest struct {
	mu      sync.Mutex
	tests   map[goKey]*goResult
	order   []goKey
	builds  map[string]*strings.Builder // compiler output by import path
	plain   strings.Builder             // lines that are not events
	covered []float64
	text    strings.Builder
	events  int64
	stopped bool
}

type goKey struct{ pkg, test string }

type goResult struct {
	action string
	output strings.Builder
}

// goEvent is a line of go test -json; see go doc test2json.
type goEvent struct {
	Action     string
	Package    string
	Test       string
	Output     string
	ImportPath string
}

func (g *goTest) command(j *job) ([]string, error) {
	program, err := proc.LookPath("go", j.workspace.Root())
	if err != nil {
		return nil, err
	}
	g.tests, g.builds = make(map[goKey]*goResult), make(map[string]*strings.Builder)
	argv := []string{program, "test", "-json"}
	if j.Coverage {
		argv = append(argv, "-cover")
	}
	target := strings.TrimSuffix(j.target, "/...")
	switch {
	case target == "" || target == "." || target == "...":
		return append(argv, "./..."), nil
	case j.exists && j.isDir:
		return append(argv, "./"+target+"/..."), nil
	case j.exists:
		return append(argv, "./"+path.Dir(target)), nil
	case strings.HasSuffix(j.target, "/..."):
		return append(argv, "./"+strings.TrimPrefix(j.target, "./")), nil
	}
	return append(argv, "-run", target, "./..."), nil
}

// listen reads the events and passes on readable output.
func (g *goTest) listen(onLine func(stream, line string)) func(stream, line string) {
	return func(stream, line string) {
		text := g.handleLine(stream, line)
		if onLine != nil && text != "" {
			onLine(stream, strings.TrimSuffix(text, "\n"))
		}
	}
}

func (g *goTest) handleLine(stream, line string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.events += int64(len(line)); g.events > eventLogLimit {
		g.stopped = true
		return ""
	}
	var e goEvent
	if stream != "stdout" || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		g.plain.WriteString(line + "\n")
		return line
	}
	g.event(e)
	return e.Output
}

func (g *goTest) event(e goEvent) {
	if e.ImportPath != "" && e.Action == "build-output" {
		if g.builds[e.ImportPath] == nil {
			g.builds[e.ImportPath] = new(strings.Builder)
		}
		g.builds[e.ImportPath].WriteString(e.Output)
		g.text.WriteString(e.Output)
		return
	}
	key := goKey{e.Package, e.Test}
	r := g.tests[key]
	if r == nil {
		r = new(goResult)
		g.tests[key] = r
		g.order = append(g.order, key)
	}
	switch e.Action {
	case "pass", "fail", "skip":
		r.action = e.Action
	case "output":
		r.output.WriteString(e.Output)
		g.text.WriteString(e.Output)
		if e.Test == "" {
			g.coverage(e.Output)
		}
	}
}

var goCoverage = regexlimit.Lazy(`coverage: ([\d.]+)% of statements`)

func (g *goTest) coverage(line string) {
	if strings.HasPrefix(line, "ok ") {
		return // repeats another line
	}
	if match := goCoverage().FindStringSubmatch(line); match != nil {
		if percent, err := strconv.ParseFloat(match[1], 64); err == nil {
			g.covered = append(g.covered, percent)
		}
	}
}

func (g *goTest) read(j *job, ended *proc.Result, r *Report) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.Truncated, r.OutputPath = false, ""
	r.Output = shorten(g.text.String()+g.plain.String(), r)
	families := g.families()
	for _, key := range g.order {
		g.count(j, key, families[key], r)
	}
	if g.stopped {
		r.warn("the run printed more than %d MiB; the counts are those until then", eventLogLimit>>20)
	}
	if j.Coverage && len(g.covered) > 0 {
		sum := 0.0
		for _, percent := range g.covered {
			sum += percent
		}
		r.Coverage = &Coverage{Percent: round(sum / float64(len(g.covered))), Of: "statements"}
		if len(g.covered) > 1 {
			r.warn("the coverage is the mean of %d packages", len(g.covered))
		}
	}
	return len(g.order) > 0 || len(g.builds) > 0
}

// count adds a test to the report. A test with subtests counts as those; a package that fails
// without a failing test (build error, crash) is itself a failure.
func (g *goTest) count(j *job, key goKey, below family, r *Report) {
	result := g.tests[key]
	if key.test == "" {
		if result.action == "fail" && !below.failed {
			r.Failed++
			r.fail(j.goFailure(key, g.buildOutput(key.pkg)+result.output.String()))
		}
		return
	}
	if below.children && (below.failed || result.action != "fail") {
		return // its result is that of its subtests
	}
	switch result.action {
	case "pass":
		r.Passed++
	case "skip":
		r.Skipped++
	default: // also a test that ran when the process died
		r.Failed++
		r.fail(j.goFailure(key, result.output.String()))
	}
}

func (g *goTest) buildOutput(pkg string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(g.builds)) {
		if plain, _, _ := strings.Cut(name, " ["); plain == pkg || plain == pkg+"_test" || plain == pkg+".test" {
			out.WriteString(g.builds[name].String())
		}
	}
	return out.String()
}

// family sums up the subtests of a test, or the tests of a package.
type family struct{ children, failed bool }

// families returns each test's family, and each package's under the name "".
func (g *goTest) families() map[goKey]family {
	all := make(map[goKey]family)
	for key, result := range g.tests {
		failed := result.action != "pass" && result.action != "skip"
		for name := key.test; name != ""; {
			name = name[:max(0, strings.LastIndexByte(name, '/'))]
			parent := goKey{key.pkg, name}
			all[parent] = family{children: true, failed: all[parent].failed || failed}
		}
	}
	return all
}

var goPosition = regexlimit.Lazy(`(?m)^\s*(/.*?\.go|[\w./-]+\.go):(\d+)`)

// goFailure takes a failure's place from the first line that names a file of the workspace: a
// panic's first lines are the runtime's. go test names files by their base name in the package.
func (j *job) goFailure(key goKey, output string) Failure {
	f := Failure{Name: key.pkg, Message: strings.TrimSpace(dropMarks(output))}
	if key.test != "" {
		f.Name += "." + key.test
	}
	for _, match := range goPosition().FindAllStringSubmatch(output, -1) {
		file := match[1]
		if strings.Contains(file, "/") {
			file = j.inWorkspace(file)
		} else {
			file = j.inPackage(key.pkg, file)
		}
		if filepath.IsAbs(file) {
			continue
		}
		f.File = file
		f.Line, _ = strconv.Atoi(match[2])
		break
	}
	return f
}

var goModule = regexlimit.Lazy(`(?m)^module\s+"?([^\s"]+)`)

// inPackage returns a package's file relative to the workspace.
func (j *job) inPackage(pkg, file string) string {
	data, _, err := j.workspace.ReadFile(path.Join(j.dir, "go.mod"), configLimit)
	if err != nil {
		return file
	}
	if match := goModule().FindSubmatch(data); match != nil {
		if below, ok := strings.CutPrefix(pkg, string(match[1])); ok {
			return path.Join(j.dir, below, file)
		}
	}
	return file
}

// dropMarks removes the lines with which go test frames a test.
func dropMarks(output string) string {
	var kept []string
	for _, line := range strings.Split(output, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- FAIL") {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// shorten keeps the first and last half of a long text.
func shorten(text string, r *Report) string {
	if len(text) <= outputCap {
		return text
	}
	r.Truncated = true
	head, tail := text[:outputCap/2], text[len(text)-outputCap/2:]
	return truncate.TrimEnd(head) + fmt.Sprintf("\n[... %d bytes left out ...]\n", len(text)-outputCap) +
		truncate.TrimStart(tail)
}

func round(percent float64) float64 { return float64(int64(percent*10+0.5)) / 10 }
