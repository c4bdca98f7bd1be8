package testrun

import (
	"encoding/json"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// cargo parses the text of cargo test: machine-readable reports need a nightly compiler.
type cargo struct{}

func (cargo) command(j *job) ([]string, error) {
	program, err := proc.LookPath("cargo", j.workspace.Root())
	if err != nil {
		return nil, err
	}
	argv := []string{program, "test", "--no-fail-fast", "--color=never"}
	if j.Coverage {
		if _, err := proc.LookPath("cargo-llvm-cov", j.workspace.Root()); err != nil {
			j.report.warn("coverage needs cargo-llvm-cov; install it, or leave coverage out")
		} else {
			argv = []string{program, "llvm-cov", "test", "--no-fail-fast", "--color=never", "--json", "--summary-only",
				"--output-path", filepath.Join(j.scratch, "coverage.json")}
		}
	}
	switch {
	case j.target == "" || j.target == ".":
	case j.exists && !j.isDir && path.Dir(j.target) == "tests":
		argv = append(argv, "--test", strings.TrimSuffix(path.Base(j.target), ".rs"))
	case j.exists:
		argv = append(argv, "--", moduleOf(j.target))
	default:
		argv = append(argv, "--", j.target)
	}
	return argv, nil
}

// moduleOf returns the prefix that the test names of a source file share.
func moduleOf(target string) string {
	module := strings.TrimSuffix(strings.TrimPrefix(target, "src/"), ".rs")
	module = strings.TrimSuffix(module, "/mod")
	if module == "lib" || module == "main" || module == "src" {
		return ""
	}
	return strings.ReplaceAll(module, "/", "::")
}

var (
	cargoSummary = regexlimit.Lazy(`(?m)^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;`)
	cargoOutput  = regexlimit.Lazy(`(?m)^---- (.+?) stdout ----$`)
	rustPanic    = regexlimit.Lazy(`panicked at ([^\s:]+):(\d+):`)
	cargoFailed  = regexlimit.Lazy(`(?m)^test (.+?) \.\.\. FAILED$`)
)

func (cargo) read(j *job, ended *proc.Result, r *Report) bool {
	text := ended.Stdout.String()
	found := false
	for _, match := range cargoSummary().FindAllStringSubmatch(text, -1) {
		found = true
		for i, n := range []*int{&r.Passed, &r.Failed, &r.Skipped} {
			count, _ := strconv.Atoi(match[i+1])
			*n += count
		}
	}
	messages := cargoMessages(text)
	for _, match := range cargoFailed().FindAllStringSubmatch(text, -1) {
		name := strings.TrimSuffix(match[1], " - should panic")
		f := Failure{Name: name, Message: messages[name]}
		if at := rustPanic().FindStringSubmatch(f.Message); at != nil {
			f.File = j.inWorkspace(at[1])
			f.Line, _ = strconv.Atoi(at[2])
		}
		r.fail(f)
	}
	if found && ended.Stdout.Truncated() {
		r.warn("the output was too long to keep, so the counts are those of what is left")
	}
	if !found && ended.ExitCode != 0 {
		r.Failed++
		r.fail(Failure{Name: "build", Message: strings.TrimSpace(ended.Stderr.String())})
		found = true
	}
	if j.Coverage && len(r.Warnings) == 0 {
		r.Coverage = j.llvmCoverage()
	}
	return found
}

// cargoMessages splits the section "failures:" by test.
func cargoMessages(text string) map[string]string {
	messages := make(map[string]string)
	heads := cargoOutput().FindAllStringSubmatchIndex(text, -1)
	for i, head := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := text[head[1]:end]
		for _, mark := range []string{"\nfailures:\n", "\ntest result:"} {
			body, _, _ = strings.Cut(body, mark)
		}
		messages[text[head[2]:head[3]]] = strings.TrimSpace(body)
	}
	return messages
}

func (j *job) llvmCoverage() *Coverage {
	data, err := j.readScratch("coverage.json")
	var report struct {
		Data []struct {
			Totals struct {
				Lines struct {
					Percent float64 `json:"percent"`
				} `json:"lines"`
			} `json:"totals"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal(data, &report) != nil || len(report.Data) == 0 {
		j.report.warn("there is no coverage: no report was written")
		return nil
	}
	return &Coverage{Percent: round(report.Data[0].Totals.Lines.Percent), Of: "lines"}
}
