// Soak calls a server's tools thousands of times, over stdio and in many concurrent HTTP sessions, and
// fails if anything grows: memory, open files, processes, goroutines. It prints the calls' cost as
// ratios to a minimal server on the official Go SDK and, if Node is installed, to the reference
// filesystem server:
//
//	go build -C tools -o ../bin/tools/ ./soak && bin/tools/soak bin/toolhost [DIRECTORY_WITH_NODE_MODULES]
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	calls     = 10_000
	sessions  = 100
	costCalls = 2_000
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: soak PATH_OF_TOOLHOST [DIRECTORY_WITH_NODE_MODULES]")
		os.Exit(2)
	}
	modules := ""
	if len(os.Args) == 3 {
		modules = os.Args[2]
	}
	if err := soak(os.Args[1], modules); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

type bench struct{ toolhost, minimal, filesystem, work string }

func soak(binary, modules string) error {
	dir, err := os.MkdirTemp("", "toolhost-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := bench{minimal: filepath.Join(dir, "minimal"), work: filepath.Join(dir, "work")}
	if b.toolhost, err = filepath.Abs(binary); err != nil {
		return err
	}
	if modules != "" {
		b.filesystem = filepath.Join(modules, "node_modules", ".bin", "mcp-server-filesystem")
	}
	if out, err := exec.Command("go", "build", "-C", "tools", "-o", b.minimal,
		"./bench/mcpserver").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		return err
	}
	text := strings.Repeat("The quick brown fox \"jumps\" over the lazy dog.\n", 22)[:1000]
	if err := os.WriteFile(filepath.Join(b.work, "1k.txt"), []byte(text), 0o644); err != nil {
		return err
	}
	if err := b.allow(); err != nil {
		return err
	}
	if err := b.growth(); err != nil {
		return err
	}
	return b.cost()
}

// allow lets commands that change files run without a question.
func (b bench) allow() error {
	err := os.WriteFile(filepath.Join(b.work, "agent.hcl"), []byte("policy {\n  dangerous = \"allow\"\n}\n"), 0o644)
	if err != nil {
		return err
	}
	cmd := exec.Command(b.toolhost, "trust", "--yes")
	cmd.Dir, cmd.Env = b.work, environment(b.work)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("toolhost trust: %w\n%s", err, out)
	}
	return nil
}

// growth makes all calls and compares before and after.
func (b bench) growth() error {
	fmt.Printf("%-40s %16s %12s %11s %11s %11s\n", "growth", "memory MiB", "files", "processes", "threads",
		"goroutines")
	s, err := startStdio(b.work, b.toolhost, "serve")
	if err != nil {
		return err
	}
	err = b.grow(fmt.Sprintf("%d calls over stdio", calls), s, func(n int) error { return mixed(s, n) })
	if err != nil {
		return err
	}
	h, err := startHTTP(b.work, b.toolhost, "serve", "--http", "0", "--no-token")
	if err != nil {
		return err
	}
	return b.grow(fmt.Sprintf("%d calls in %d sessions over HTTP", calls, sessions), h, func(n int) error {
		return h.inSessions(sessions, n, mixed)
	})
}

func mixed(c caller, n int) error {
	for i := range n {
		var err error
		switch i % 10 {
		case 0:
			err = c.call("head", `{"args":"-n 3 1k.txt"}`)
		case 1:
			err = c.call("todoread", `{}`)
		case 2:
			err = c.call("list_files", `{"path":"."}`)
		case 3:
			err = c.call("touch", `{"args":"written"}`)
		case 8:
			err = c.call("rm", `{"args":"-f written"}`)
		default:
			err = c.call("read_file", `{"path":"1k.txt"}`)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The most that may have been added at the end.
const (
	moreMemory     = 24 << 20
	moreFiles      = 6
	moreThreads    = 24 // the runtime adds them for concurrent calls and keeps them
	mostGoroutines = 60
)

func (b bench) grow(name string, s server, work func(n int) error) error {
	defer s.stop()
	if err := work(calls); err != nil { // caches fill, pools grow, and memory reaches what this many sessions need
		return err
	}
	time.Sleep(time.Second) // the connections of the first calls close
	var before, after usage
	for range 2 { // memory may just wait for the collector: a leak grows again
		before = s.process().usage()
		if err := work(calls); err != nil {
			return err
		}
		if after = awaitUsage(s.process(), before); !before.grownTo(after) {
			break
		}
	}
	goroutines, err := s.goroutines()
	if err != nil {
		return err
	}
	fmt.Printf("%-40s %6.1f -> %6.1f %4d -> %4d %3d -> %4d %3d -> %4d %11d\n", name,
		mebi(before.memory), mebi(after.memory), before.files, after.files, before.processes, after.processes,
		before.threads, after.threads, goroutines)
	if before.grownTo(after) || goroutines > mostGoroutines {
		return fmt.Errorf("%s: something grows", name)
	}
	return nil
}

func (u usage) grownTo(after usage) bool {
	return after.memory > u.memory+moreMemory || after.files > u.files+moreFiles || after.processes > u.processes ||
		after.threads > u.threads+moreThreads
}

// awaitUsage waits briefly for what ends by itself.
func awaitUsage(p process, before usage) usage {
	var now usage
	for range 50 {
		if now = p.usage(); now.files <= before.files && now.processes <= before.processes {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return now
}

func mebi(n int64) float64 { return float64(n) / (1 << 20) }

func (b bench) cost() error {
	fmt.Printf("\n%-72s %6s\n", "cost of reading 1 KB / of the same elsewhere", "ratio")
	starts := map[string]func() (server, error){
		"minimal":    func() (server, error) { return startStdio(b.work, b.minimal) },
		"filesystem": func() (server, error) { return startStdio(b.work, b.filesystem, b.work) },
	}
	if b.filesystem == "" {
		delete(starts, "filesystem")
	}
	for _, name := range []string{"minimal", "filesystem"} {
		start := starts[name]
		if start == nil {
			continue
		}
		ours, err := startStdio(b.work, b.toolhost, "serve")
		if err != nil {
			return err
		}
		if err := b.compare("over stdio / "+name, ours, start, readOne); err != nil {
			return err
		}
	}
	ours, err := startHTTP(b.work, b.toolhost, "serve", "--http", "0", "--no-token")
	if err != nil {
		return err
	}
	return b.compare(fmt.Sprintf("%d sessions over HTTP / minimal", sessions), ours,
		func() (server, error) { return startHTTP(b.work, b.minimal, "http") }, readMany)
}

type reading func(s server, n int) error

func readOne(s server, n int) error { return reads(s.(caller), n) }

func readMany(s server, n int) error { return s.(*httpServer).inSessions(sessions, n, reads) }

func reads(c caller, n int) error {
	for range n {
		if err := c.call("read_file", c.file("1k.txt")); err != nil {
			return err
		}
	}
	return nil
}

// compare alternates, so that a machine that slows down slows both.
func (b bench) compare(name string, ours server, start func() (server, error), read reading) error {
	defer ours.stop()
	base, err := start()
	if err != nil {
		return err
	}
	defer base.stop()
	var times [2]time.Duration
	const turns = 10
	for range turns {
		for i, s := range []server{ours, base} {
			started := time.Now()
			if err := read(s, costCalls/turns); err != nil {
				return err
			}
			times[i] += time.Since(started)
		}
	}
	mine, theirs := ours.process().usage(), base.process().usage()
	fmt.Printf("%-72s %6.2f\n", name+": time", float64(times[0])/float64(times[1]))
	fmt.Printf("%-72s %6.2f\n", name+": memory, with child processes", float64(mine.memory)/float64(theirs.memory))
	return nil
}
