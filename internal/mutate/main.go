// Mutate proves that the tests of the defence would notice if a check of it
// were missing. Each mutation of mutations.txt takes one check out of a source
// file; the tests that it names have to fail then. The files themselves stay as
// they are: the compiler is given others in their place.
//
//	go run ./internal/mutate [PATTERN]    those whose name, file or test matches
//
// An attack that nothing stops does harm, so it does not run as the root user.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed mutations.txt
var mutations string

func main() {
	if os.Geteuid() == 0 {
		fmt.Fprintln(os.Stderr, "mutate: tests whose defence is missing do harm. Run it as a user who can do none, best on a machine to throw away.")
		os.Exit(2)
	}
	pattern := ""
	if len(os.Args) > 1 {
		pattern = os.Args[1]
	}
	missed, err := run(pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Printf("%d mutations were invalid or noticed by no test\n", missed)
		os.Exit(1)
	}
}

// mutation is one check that is taken out.
type mutation struct {
	name, file       string
	packages, test   string // go test's arguments that have to fail
	snippet, instead string
}

// parse reads the list. A mutation is:
//
//	== what no longer holds
//	file PATH
//	test PACKAGE RUN
//	-- what stands in the file, exactly once
//	++ what stands there instead
//
// with as many lines of the last two as it takes.
func parse(text string) ([]mutation, error) {
	var all []mutation
	for number, line := range strings.Split(text, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		if line == "" || kind == "#" {
			continue
		}
		if kind == "==" {
			all = append(all, mutation{name: rest})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("mutations.txt:%d: a mutation begins with ==", number+1)
		}
		switch m := &all[len(all)-1]; kind {
		case "file":
			m.file = rest
		case "test":
			m.packages, m.test, _ = strings.Cut(rest, " ")
		case "--":
			m.snippet += rest + "\n"
		case "++":
			m.instead += rest + "\n"
		default:
			return nil, fmt.Errorf("mutations.txt:%d: lines begin with ==, file, test, -- or ++", number+1)
		}
	}
	return all, nil
}

// apply gives the mutated file.
func (m mutation) apply() (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.snippet); n != 1 {
		return "", fmt.Errorf("%s: the snippet is %d times in %s; write down what the check looks like now:\n%s", m.name, n, m.file, m.snippet)
	}
	return strings.Replace(string(source), m.snippet, m.instead, 1), nil
}

func run(pattern string) (missed int, err error) {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return 0, err
	}
	all, err := parse(mutations)
	if err != nil {
		return 0, err
	}
	for _, m := range all { // all at once, before time is spent
		if _, applyErr := m.apply(); applyErr != nil {
			err = errors.Join(err, applyErr)
		}
	}
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "toolhost-mutate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	for _, m := range all {
		if !wanted.MatchString(m.name + " " + m.file + " " + m.packages + " " + m.test) {
			continue
		}
		began := time.Now()
		noticed, said, err := m.noticed(dir)
		switch {
		case err != nil:
			missed++
			fmt.Printf("INVALID: %s: %v\n%s", m.name, err, said)
		case noticed:
			fmt.Printf("ok: %s (%s, %.0fs)\n", m.name, m.test, time.Since(began).Seconds())
		default:
			missed++
			fmt.Printf("MISSED: %s: %s in %s passes\n%s", m.name, m.test, m.packages, said)
		}
	}
	return missed, nil
}

// noticed runs the named tests with the mutation. One that does not compile
// proves nothing and is an error.
func (m mutation) noticed(dir string) (noticed bool, said string, err error) {
	overlay, err := m.overlay(dir)
	if err != nil {
		return false, "", err
	}
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -overlay=" + overlay)
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=10m", "-run", m.test, m.packages)
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags) // also for programs that tests build
	out, err := cmd.CombinedOutput()
	said = string(out)
	switch {
	case strings.Contains(said, "[build failed]") || strings.Contains(said, "go build: exit"):
		return false, said, errors.New("it does not compile")
	case strings.Contains(said, "no tests to run"):
		return false, said, errors.New("there is no such test")
	}
	return err != nil, said, nil
}

// overlay writes the mutated file and tells the compiler about it.
func (m mutation) overlay(dir string) (string, error) {
	mutated, err := m.apply()
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	instead, list := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	data, err := json.Marshal(map[string]map[string]string{"Replace": {file: instead}})
	if err != nil {
		return "", err
	}
	return list, errors.Join(os.WriteFile(instead, []byte(mutated), 0o644), os.WriteFile(list, data, 0o644))
}
