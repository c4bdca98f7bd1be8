// Bench prints toolhost's cost as ratios to the least cost of the same work, both
// measured in one run on the same machine:
//
//	go build -C tools -o ../bin/tools/ ./bench && bin/tools/bench bin/toolhost [WORDS]
//
// With words it measures only the lines whose names contain them. With -gate FILE it
// compares processor time instead, and fails for ratios more than 15 %, or -above
// percent, above those in the file; -write writes the measured ratios there.
//
// Single times mean little on a shared machine and are shown only to make the ratios plausible.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func main() {
	file := flag.String("gate", "", "compare processor time with the ratios of this file")
	above := flag.Float64("above", 15, "how many percent above them are too much")
	write := flag.Bool("write", false, "write the ratios into that file")
	url := flag.String("fetch", "", "request this, as many times as -times says, and nothing else: a bench of the network runs it")
	times := flag.Int("times", 1, "see -fetch")
	flag.Parse()
	if *url != "" {
		if err := fetch(*url, *times); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if flag.NArg() < 1 {
		fmt.Fprintln(os.Stderr, "usage: bench [-gate FILE [-above PERCENT] [-write]] PATH_OF_TOOLHOST [WORDS]")
		os.Exit(2)
	}
	words := strings.Join(flag.Args()[1:], " ")
	run := func() error { return bench(flag.Arg(0), words) }
	if *file != "" {
		run = func() error { return gate(flag.Arg(0), *file, *above, *write, words) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// notHere says why something cannot be measured on this machine.
type notHere struct{ error }

type measure func() error

type comparison struct {
	name     string
	aim      string
	ours     measure
	base     measure
	baseName string
	rounds   int
	before   measure // runs before each side, untimed; may be nil
}

func bench(binary, words string) error {
	b, err := prepare(binary)
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

// run times both sides in turn, so that a machine that slows down slows both, and prints the ratio
// of the medians.
func (c comparison) run() error {
	rounds := c.rounds
	if rounds == 0 {
		rounds = 60
	}
	var ours, base []time.Duration
	warm := min(3, rounds/3) // rounds that warm caches
	for i := range rounds + warm {
		o, err := c.timed(c.ours)
		if err != nil {
			return err
		}
		b, err := c.timed(c.base)
		if err != nil {
			return fmt.Errorf("%s: %w", c.baseName, err)
		}
		if i >= warm {
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

// environment is for every process. The measured projects are made here, so it trusts them.
func environment() []string { return append(os.Environ(), "TOOLHOST_TRUST=1") }
