// Toolhost-bench prints what toolhost costs, as ratios to the least that the
// same work can cost, both measured in one run on the same machine:
//
//	go run ./cmd/toolhost-bench bin/toolhost [WORDS]
//
// With words only the lines are measured whose names contain them.
//
// Single times say little on a shared machine and are shown only to make
// the ratios plausible.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: toolhost-bench PATH_OF_TOOLHOST [WORDS]")
		os.Exit(2)
	}
	if err := bench(os.Args[1], strings.Join(os.Args[2:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, "toolhost-bench:", err)
		os.Exit(1)
	}
}

// notHere says why something cannot be measured on this machine.
type notHere struct{ error }

// measure is one thing to time.
type measure func() error

// comparison is a line of the report.
type comparison struct {
	name     string
	aim      string
	ours     measure
	base     measure
	baseName string
	rounds   int
	before   measure // done before each side, and not timed; may be nil
}

func bench(binary, words string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "toolhost-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := prepare(binary, dir)
	if err != nil {
		return err
	}
	defer b.close()
	comparisons, err := b.comparisons()
	if err != nil {
		return err
	}
	fmt.Printf("%-58s %8s %8s %10s %10s\n", "what / over what", "ratio", "aim", "ours", "base")
	for _, c := range comparisons {
		if !strings.Contains(c.name, words) {
			continue
		}
		err := c.run()
		if why := (notHere{}); errors.As(err, &why) {
			fmt.Printf("%-58s not measured: %v\n", c.name+" / "+c.baseName, why)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if words != "" {
		return nil
	}
	return b.goBenchmarks()
}

// run times both sides in turn, so that a machine that slows down slows both,
// and prints the ratio of the medians.
func (c comparison) run() error {
	rounds := c.rounds
	if rounds == 0 {
		rounds = 60
	}
	var ours, base []time.Duration
	for i := range rounds + 3 {
		o, err := c.timed(c.ours)
		if err != nil {
			return err
		}
		b, err := c.timed(c.base)
		if err != nil {
			return fmt.Errorf("%s: %w", c.baseName, err)
		}
		if i >= 3 { // the first rounds warm caches
			ours, base = append(ours, o), append(base, b)
		}
	}
	report(c.name+" / "+c.baseName, c.aim, median(ours), median(base))
	return nil
}

func report(name, aim string, ours, base time.Duration) {
	fmt.Printf("%-58s %8.2f %8s %10s %10s\n", name, float64(ours)/float64(base), aim, round(ours), round(base))
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

func (c comparison) timed(m measure) (time.Duration, error) {
	if c.before != nil {
		if err := c.before(); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	err := m()
	return time.Since(start), err
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// command is a measure that runs a program to its end.
func command(dir, name string, args ...string) measure {
	return func() error {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = environment()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		return nil
	}
}

// environment is that of every process here. The projects measured are made
// by this program itself, so it is trusted.
func environment() []string { return append(os.Environ(), "TOOLHOST_TRUST=1") }
