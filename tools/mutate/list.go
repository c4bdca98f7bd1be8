package main

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
)

//go:embed mutations.txt
var mutations string

type mutation struct {
	line             int // its first line in mutations.txt
	name, file       string
	packages, test   string // go test's arguments that must fail
	apart            bool   // for a plugin's process, which is not told which one is chosen
	snippet, instead string
}

// parse reads the list. A mutation is:
//
//	== what no longer holds
//	file PATH
//	test PACKAGE RUN
//	apart
//	-- what stands in the file, exactly once
//	++ what stands there instead
//
// with as many lines of the last two as needed. apart is for code in a process
// without the test's environment: a shipped plugin.
func parse(text string) ([]mutation, error) {
	var all []mutation
	for number, line := range strings.Split(text, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		if line == "" || kind == "#" {
			continue
		}
		if kind == "==" {
			all = append(all, mutation{name: rest, line: number + 1})
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
		case "apart":
			m.apart = true
		case "--":
			m.snippet += rest + "\n"
		case "++":
			m.instead += rest + "\n"
		default:
			return nil, fmt.Errorf("mutations.txt:%d: lines begin with ==, file, test, apart, -- or ++", number+1)
		}
	}
	return all, nil
}

func (m mutation) apply() (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.snippet); n != 1 {
		return "", fmt.Errorf("%s: the snippet is %d times in %s; write down what the check looks like now:\n%s",
			m.name, n, m.file, m.snippet)
	}
	return strings.Replace(string(source), m.snippet, m.instead, 1), nil
}
