// Demo builds toolhost and shows it at work in a small project of its own, in a
// directory that is removed in the end: a tool of each source, an edit, what the
// sandbox and the policy refuse, an undo, and a session over MCP. It runs the built
// program as a person would, and prints each command before what it says, cut short.
//
//	go run ./examples/demo go bin/toolhost
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const agentFile = `tool "todos" {
  description = "Find TODO comments. Returns: a line for each."
  risk        = "read_only"
  command { argv = ["grep", "-rn", "TODO", "src"] }
}

tool "escape" {
  description = "Try to leave the workspace, as a bad dependency would. Returns: nothing."
  command { argv = ["sh", "-c", "echo pwned > ../home/.profile"] }
}

tool "fetch" {
  description = "Fetch from a git server that network does not name. Returns: nothing."
  network     = ["git.example.com"]
  command { argv = ["git", "ls-remote", "https://elsewhere.example.org/x.git"] }
}

tool "deploy" {
  description = "Deploy. Returns: nothing."
  command { argv = ["echo", "deployed"] }
}

mcp "library" {
  command = ["TOOLHOST", "serve", "--workspace", "src"] # an MCP server, of toolhost itself here
  prefix  = "library_"
}

taskfile { path = "Taskfile.yml" }

policy {
  rule "a person decides" {
    tool   = "deploy"
    action = "ask"
  }
}
`

const taskfile = `version: "3"
tasks:
  hello:
    desc: Say hello.
    silent: true
    cmds: [echo Hello from the Taskfile]
`

// repository is where this file lies, from the project of the demo, which is made below bin.
const repository = "../../.."

// nothing is for a step of which the command alone is shown, on one line with the next.
const nothing = 0

// step is one command, and how many lines of what it says are shown, from the first
// that has a text on.
type step struct {
	title string
	lines int
	from  string
	// fails is whether it is meant to be refused.
	fails bool
	args  []string
}

func steps() []step {
	return []step{
		{"a tool of each source: this repository's agent.hcl, a standard wrapper, a Taskfile, a plugin, and an edit with its diff", 1, "", false,
			[]string{"call", "--workspace", repository, "--trust", "declaration", "name=Definition", "dir=host/tool"}},
		{"", 1, "", false, []string{"call", "head", "args=-n 1 src/a.txt"}},
		{"", 1, "", false, []string{"call", "run_command", "command=hello"}},
		{"", 1, "", false, []string{"call", "--toolset", "agentbench", "list_files", "root=src"}},
		{"", 2, "-Fix", false, []string{"call", "edit_file", "path=src/a.txt", "old_str=teh", "new_str=the", "--dry-run"}},
		{"the sandbox: a program cannot write outside the workspace, or reach a host that is not named", 1, ".profile", true,
			[]string{"call", "escape"}},
		{"", 1, "refused the network", true, []string{"call", "fetch"}},
		{"undo, of what a command did", nothing, "", false, []string{"call", "rm", "args=-r src"}},
		{"", 1, "", false, []string{"undo"}},
		{"a call that waits for a person, and the same with the person's yes", 1, "", true, []string{"call", "deploy"}},
		{"", 1, "", false, []string{"call", "deploy", "--yes"}},
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: demo GO PATH_OF_TOOLHOST")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "\nthe demo stopped:", err)
		os.Exit(1)
	}
}

func run(goCommand, binary string) error {
	if err := build(goCommand, filepath.Dir(binary)); err != nil {
		return err
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(binary), "demo-") // not in /tmp, which processes have for themselves
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, err := newDemo(binary, dir)
	if err != nil {
		return err
	}
	for i, s := range steps() {
		if i > 0 && s.title != "" {
			fmt.Println()
		}
		if err := d.show(s); err != nil {
			return err
		}
	}
	if err := d.session(); err != nil {
		return err
	}
	fmt.Printf("\nNow in a project of yours (export PATH=%q:$PATH):\n", filepath.Dir(binary))
	fmt.Println("  toolhost init                  # writes agent.hcl with the tools that build and test it")
	fmt.Println("  toolhost list                  # what an agent gets")
	fmt.Println("  toolhost install claude-code   # or cursor, vscode, codex and 17 more")
	return nil
}

// build makes the programs that are shown. Of what go says of downloads it shows nothing.
func build(goCommand, dir string) error {
	fmt.Println("Building toolhost; the first time takes some minutes ...")
	cmd := exec.Command(goCommand, "build", "-o", dir+string(filepath.Separator), "./cmd/toolhost", "./cmd/toolhost-task")
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "go: downloading ") {
			fmt.Fprintln(os.Stderr, lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

// demo is a project with a home directory of its own.
type demo struct {
	binary, project string
	env             []string
	joined          bool // the next command stands on the line of the last
}

func newDemo(binary, dir string) (*demo, error) {
	d := &demo{binary: binary, project: filepath.Join(dir, "project"), env: os.Environ()}
	home := filepath.Join(dir, "home")
	for _, pair := range [][2]string{{"HOME", ""}, {"XDG_CONFIG_HOME", ".config"}, {"XDG_STATE_HOME", ".state"},
		{"XDG_CACHE_HOME", ".cache"}, {"XDG_DATA_HOME", ".data"}} {
		d.env = append(d.env, pair[0]+"="+filepath.Join(home, pair[1]))
	}
	for name, text := range map[string]string{"agent.hcl": strings.Replace(agentFile, "TOOLHOST", binary, 1), "Taskfile.yml": taskfile,
		"src/a.txt": "Fix teh spelling. TODO\n", "../home/.profile": ""} {
		path := filepath.Join(d.project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return nil, err
		}
	}
	if out, err := d.command("trust", "--yes").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("toolhost trust: %w\n%s", err, out)
	}
	return d, nil
}

func (d *demo) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.binary, args...)
	cmd.Dir, cmd.Env = d.project, d.env
	return cmd
}

// show prints a command and the first lines of what it says, without empty ones.
func (d *demo) show(s step) error {
	if s.title != "" {
		fmt.Printf("# %s\n", s.title)
	}
	words := make([]string, len(s.args))
	for i, arg := range s.args {
		words[i] = quote(arg)
	}
	before, after := "$ ", "\n"
	if d.joined {
		before = ""
	}
	if d.joined = s.lines == nothing; d.joined {
		after = " && "
	}
	fmt.Printf("%stoolhost %s%s", before, strings.Join(words, " "), after)
	out, err := d.command(s.args...).CombinedOutput()
	if (err != nil) != s.fails {
		return fmt.Errorf("toolhost %s: %v\n%s", strings.Join(s.args, " "), err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" && !noise(line) {
			lines = append(lines, line)
		}
	}
	from := max(0, slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, s.from) }))
	for _, line := range lines[from:min(from+s.lines, len(lines))] {
		fmt.Println(cut(strings.TrimSpace(line)))
	}
	return nil
}

// noise reports whether a line only frames what a tool says.
func noise(line string) bool {
	return strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "@@ ") ||
		line == "stdout:" || strings.HasPrefix(line, "Command '")
}

const width = 110

func cut(line string) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width-3]) + "..."
	}
	return line
}

// session is one session of an MCP client.
func (d *demo) session() error {
	fmt.Println("\n# what an MCP client sees of toolhost serve: a command of agent.hcl, a tool of another MCP server")
	cmd := d.command("serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	answers := bufio.NewReader(out)
	for id, request := range []string{
		`"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}`,
		`"method":"tools/list"`,
		`"method":"tools/call","params":{"name":"todos","arguments":{}}`,
		`"method":"tools/call","params":{"name":"library_read_file","arguments":{"path":"a.txt"}}`,
	} {
		if id == 1 {
			if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", id+1, request); err != nil {
			return err
		}
		if err := d.answer(answers, id+1); err != nil {
			return err
		}
	}
	return nil
}

// answer reads up to the answer of a request, and prints it in short.
func (d *demo) answer(answers *bufio.Reader, id int) error {
	for {
		line, err := answers.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("toolhost serve: %w", err)
		}
		var got struct {
			ID     int `json:"id"`
			Result struct {
				ServerInfo struct{ Name string } `json:"serverInfo"`
				Tools      []struct{ Name string }
				Content    []struct{ Text string }
			} `json:"result"`
		}
		if json.Unmarshal(bytes.TrimSpace(line), &got) != nil || got.ID != id {
			continue
		}
		switch r := got.Result; {
		case r.ServerInfo.Name != "":
			fmt.Print("initialize -> " + r.ServerInfo.Name + "; ")
		case len(r.Tools) > 0:
			fmt.Printf("tools/list -> %d tools\n", len(r.Tools))
		case len(r.Content) > 0:
			fmt.Println(cut("tools/call -> " + strings.TrimSpace(r.Content[0].Text)))
		default:
			return fmt.Errorf("toolhost serve answered %s", line)
		}
		return nil
	}
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
