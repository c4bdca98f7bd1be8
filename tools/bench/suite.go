package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const declaredPlugins = 20

type suite struct {
	dir      string
	toolhost string
	hello    string
	minimal  string // the minimal MCP server
	work     string // a workspace with files to read
	plugins  string // a workspace with plugins in agent.hcl
	bare     string // one without
	tools    string // one with tools
	tasks    string // one with a Taskfile
	clients  []*client
	atEnd    []func() error
	packages func() (map[string]string, error) // what npm ci needs
}

// prepare builds the programs to compare with and creates the workspaces.
func prepare(binary string) (*suite, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "toolhost-bench-")
	if err != nil {
		return nil, err
	}
	b := &suite{
		dir:      dir,
		toolhost: binary,
		hello:    filepath.Join(dir, "hello"),
		minimal:  filepath.Join(dir, "mcpserver"),
		work:     filepath.Join(dir, "work"),
		plugins:  filepath.Join(dir, "plugins"),
		bare:     filepath.Join(dir, "bare"),
	}
	b.packages = sync.OnceValues(b.fetchPackages)
	for out, pkg := range map[string]string{b.hello: "hello", b.minimal: "mcpserver"} {
		if err := build("tools", out, "./bench/"+pkg); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		return nil, err
	}
	line := strings.Repeat("The quick brown fox \"jumps\" over the lazy dog.\n", 22)
	for name, size := range map[string]int{"1k.txt": 1 << 10, "1m.txt": 1 << 20} {
		text := strings.Repeat(line, size/len(line)+1)[:size]
		if err := os.WriteFile(filepath.Join(b.work, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return b, errors.Join(b.declarePlugins(dir), b.declareTools())
}

func build(dir, out, pkg string) error {
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// declarePlugins makes a project with many plugins, each its own binary, and lets toolhost learn
// their tools once.
func (b *suite) declarePlugins(dir string) error {
	example := filepath.Join(dir, "plugin")
	if err := build("examples/plugin-go", example, "."); err != nil {
		return err
	}
	for _, workspace := range []string{b.plugins, b.bare} {
		if err := os.MkdirAll(workspace, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(b.bare, "agent.hcl"), []byte("workspace {\n  root = \".\"\n}\n"),
		0o644); err != nil {
		return err
	}
	var config strings.Builder
	for i := range declaredPlugins {
		own := fmt.Sprint(example, i)
		if err := os.Link(example, own); err != nil {
			return err
		}
		fmt.Fprintf(&config, "plugin \"p%02d\" {\n  source = %q\n  prefix = \"p%02d_\"\n}\n\n", i, own, i)
	}
	if err := os.WriteFile(filepath.Join(b.plugins, "agent.hcl"), []byte(config.String()), 0o644); err != nil {
		return err
	}
	return command(b.plugins, b.toolhost, "list")()
}

// serve starts a server that runs until the end.
func (b *suite) serve(dir, name string, args ...string) (*client, error) {
	c, err := start(dir, name, args...)
	if err == nil {
		b.clients = append(b.clients, c)
	}
	return c, err
}

func (b *suite) close() {
	for _, c := range b.clients {
		_ = c.stop()
	}
	for _, do := range b.atEnd {
		_ = do()
	}
	_ = os.RemoveAll(b.dir)
}

func (b *suite) comparisons() ([]comparison, error) {
	ours, err := b.serve(b.work, b.toolhost, "serve")
	if err != nil {
		return nil, err
	}
	open, err := b.serve(b.work, "env", "TOOLHOST_SANDBOX=off", b.toolhost, "serve")
	if err != nil {
		return nil, err
	}
	minimal, err := b.serve(b.work, b.minimal)
	if err != nil {
		return nil, err
	}
	bare := command(b.work, "head", "-n", "5", "1k.txt")
	lines := []comparison{
		{name: "read 1 KB over MCP", baseName: "minimal go-sdk server", aim: "1.15", rounds: 500,
			ours: ours.call("read_file", `{"path":"1k.txt"}`), base: minimal.call("read_file", `{"path":"1k.txt"}`)},
		{name: "read 1 MB over MCP", baseName: "minimal go-sdk server", aim: "1.3", rounds: 40,
			ours: ours.call("read_file", `{"path":"1m.txt"}`), base: minimal.call("read_file", `{"path":"1m.txt"}`)},
		{name: "head over MCP", baseName: "bare fork+exec of head", aim: "2.5", rounds: 200,
			ours: ours.call("head", `{"args":"-n 5 1k.txt"}`), base: bare},
		{name: "head over MCP, sandbox off", baseName: "bare fork+exec of head", aim: "1.3", rounds: 200,
			ours: open.call("head", `{"args":"-n 5 1k.txt"}`), base: bare},
		{name: "head over MCP", baseName: "head in the minimal server", aim: "-", rounds: 200,
			ours: ours.call("head", `{"args":"-n 5 1k.txt"}`), base: minimal.call("head", `{"path":"1k.txt"}`)},
		{name: fmt.Sprintf("toolhost list, %d plugins", declaredPlugins), baseName: "no plugin", aim: "1.1",
			ours: command(b.plugins, b.toolhost, "list"), base: command(b.bare, b.toolhost, "list")},
		{name: fmt.Sprintf("start to tools/list, %d plugins", declaredPlugins), baseName: "no plugin", aim: "1.1",
			ours: firstList(b.plugins, b.toolhost, "serve"), base: firstList(b.bare, b.toolhost, "serve")},
	}
	for _, further := range []func() ([]comparison, error){b.starts, b.singles, b.churns, b.confined, b.listed, b.watched, b.views,
		b.searches, b.patches, b.fleet} {
		more, err := further()
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\w+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

var memoryMetric = regexp.MustCompile(`(?m)^Benchmark(\w+?)(?:-\d+)?\s.*?([\d.]+) MiB`)

// goBenchmarks adds ratios of pairs of Go benchmarks, for work inside a process.
func (b *suite) goBenchmarks() error {
	cmd := exec.Command("go", "test", "./internal/source/plugins", "-run", "^$",
		"-bench", "^Benchmark(Call|BareEcho|Start|BareStart)$", "-benchtime", "1s")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	times := make(map[string]time.Duration)
	for _, m := range benchmarkLine.FindAllSubmatch(bytes.TrimSpace(out), -1) {
		ns, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return err
		}
		times[string(m[1])] = time.Duration(ns)
	}
	if times["Call"] == 0 || times["BareEcho"] == 0 || times["Start"] == 0 || times["BareStart"] == 0 {
		return fmt.Errorf("the benchmarks of ./internal/source/plugins are missing:\n%s", out)
	}
	report("plugin call / bare go-plugin gRPC echo", "1.5", times["Call"], times["BareEcho"])
	report("plugin start to first call / bare go-plugin echo", "1.1", times["Start"], times["BareStart"])
	for _, m := range memoryMetric.FindAllSubmatch(out, -1) {
		fmt.Printf("memory of a live plugin, %s: %s MiB\n",
			map[string]string{"Start": "ours", "BareStart": "bare go-plugin echo"}[string(m[1])], m[2])
	}
	return nil
}
