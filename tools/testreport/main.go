// Testreport reads the output of `go test -json` from standard input, and prints what passed, what was skipped
// and why, and failing tests' output. It exits with 1 if anything failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	r, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	r.print(os.Stdout)
	if !r.good() {
		os.Exit(1)
	}
}

type event struct{ Action, Package, Test, Output, ImportPath string }

type unit struct{ pkg, test string }

type report struct {
	said  map[unit]*strings.Builder
	ended map[unit]string // pass, fail or skip
	other []string        // lines that are not events, and compiler output
}

func read(from io.Reader) (*report, error) {
	r := &report{said: make(map[unit]*strings.Builder), ended: make(map[unit]string)}
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			r.addLine(line)
		}
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *report) addLine(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		r.other = append(r.other, strings.TrimRight(line, "\n"))
		return
	}
	u := unit{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.other = append(r.other, strings.TrimRight(e.Output, "\n"))
	case "output":
		if r.said[u] == nil {
			r.said[u] = new(strings.Builder)
		}
		r.said[u].WriteString(e.Output)
	case "pass", "fail", "skip":
		r.ended[u] = e.Action
	}
}

func (r *report) good() bool {
	passed := false
	for _, end := range r.ended {
		if end == "fail" {
			return false
		}
		passed = passed || end == "pass"
	}
	return passed
}

func (r *report) print(to io.Writer) {
	packages, tests, reasons := make(map[string]int), make(map[string]int), make(map[string]int)
	for u, end := range r.ended {
		switch {
		case u.test == "":
			packages[end]++
			continue
		case end == "skip":
			reasons[reason(r.words(u))]++
		}
		tests[end]++
	}
	if !r.good() {
		for _, line := range r.other {
			fmt.Fprintln(to, line)
		}
	}
	for _, u := range slices.SortedFunc(maps.Keys(r.ended), before) {
		if r.ended[u] == "fail" {
			fmt.Fprintf(to, "FAIL %s %s\n%s", u.pkg, u.test, r.words(u))
		}
	}
	fmt.Fprintf(to, "packages: %s; tests: %s\n", counts(packages), counts(tests))
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(to, "%4d skipped: %s\n", reasons[why], why)
	}
}

func before(a, b unit) int {
	if c := strings.Compare(a.pkg, b.pkg); c != 0 {
		return c
	}
	return strings.Compare(a.test, b.test)
}

// words returns a test's output, without the lines of go test itself.
func (r *report) words(u unit) string {
	var kept strings.Builder
	if r.said[u] == nil {
		return ""
	}
	for line := range strings.Lines(r.said[u].String()) {
		if start := strings.TrimLeft(line, " "); !strings.HasPrefix(start, "=== ") &&
			!strings.HasPrefix(start, "--- ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// reason returns why a test was skipped: its last log line, without the position.
func reason(words string) string {
	words = strings.TrimSpace(words)
	words = strings.TrimSpace(words[strings.LastIndex(words, "\n")+1:])
	if place, why, ok := strings.Cut(words, ": "); ok && strings.Contains(place, ".go:") {
		return why
	}
	return words
}

func counts(of map[string]int) string {
	var parts []string
	for _, end := range []string{"pass", "fail", "skip"} {
		if of[end] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[end], end))
		}
	}
	return strings.Join(parts, ", ")
}
