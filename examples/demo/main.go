// Demo shows toolhost at work on the project it is started in: the list of
// tools, then one real call of a tool of each source. It runs the built
// program as a person would, and prints each command before its output. The
// tools that it calls need nothing but toolhost and what every POSIX system has.
//
//	go run ./examples/demo bin/toolhost
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const scratch = ".agent/demo/scratch.txt"

// step is one command of the demonstration.
type step struct {
	title string
	args  []string
}

var steps = []step{
	{"the tools of this project", []string{"list"}},
	{"a passthrough: a wrapper around head", []string{"call", "head", "args=-n 5 README.md"}},
	{"a typed command, declared in agent.hcl", []string{"call", "declaration", "name=Risk", "dir=host/tool"}},
	{"the commands of .agent/Taskfile.yml", []string{"call", "list_commands"}},
	{"one of them, run", []string{"call", "run_command", "command=hello", "args=from the demo"}},
	{"a file tool, which runs in toolhost itself",
		[]string{"call", "write_file", "path=" + scratch, "content=alpha\nbeta\ngamma\n"}},
	{"and what another reads back", []string{"call", "read_file", "path=" + scratch}},
	{"a tool of a plugin: a subprocess over gRPC",
		[]string{"call", "--toolset", "agentbench", "list_files", "root=examples"}},
	{"an edit, planned only: the diff, and nothing changed",
		[]string{"call", "edit_file", "path=" + scratch, "old_str=beta", "new_str=BETA", "--dry-run"}},
	{"the edit itself", []string{"call", "edit_file", "path=" + scratch, "old_str=beta", "new_str=BETA"}},
	{"a todo list, written",
		[]string{"call", "todowrite",
			`todos_json=[{"id":"1","content":"Read the README","status":"in_progress","priority":"high"}]`}},
	{"and read by a later call of the same session", []string{"call", "todoread"}},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demo PATH_OF_TOOLHOST")
		os.Exit(2)
	}
	binary, err := filepath.Abs(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer os.RemoveAll(filepath.Dir(scratch))
	for _, s := range steps {
		if err := show(binary, s); err != nil {
			fmt.Fprintf(os.Stderr, "\nthe demo stopped: toolhost %s: %v\n", strings.Join(s.args, " "), err)
			_ = os.RemoveAll(filepath.Dir(scratch))
			os.Exit(1)
		}
	}
}

// show prints a command and runs it.
func show(binary string, s step) error {
	words := make([]string, len(s.args))
	for i, arg := range s.args {
		words[i] = quote(arg)
	}
	fmt.Printf("\n# %s\n$ toolhost %s\n", s.title, strings.Join(words, " "))
	// This repository's own agent.hcl is known; a project that somebody else
	// wrote is approved once, with `toolhost trust`.
	cmd := exec.Command(binary, s.args...)
	cmd.Env = append(os.Environ(), "TOOLHOST_TRUST=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// quote writes an argument as one would type it in a shell.
func quote(arg string) string {
	if !strings.ContainsAny(arg, " \n\"'[]{}()$&;|<>*?") {
		return arg
	}
	if key, value, ok := strings.Cut(arg, "="); ok && !strings.ContainsAny(key, " '\"") {
		return key + "=" + "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
