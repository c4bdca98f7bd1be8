// Mutate proves that the defence's tests would notice if one of its checks were
// missing. Each mutation of mutations.txt removes one check from a source file;
// the tests that it names must then fail, and pass without it. The files
// themselves are unchanged: the compiler gets others in their place. These have
// all mutations of a file, of which each run chooses one, so that tests are
// built once; only mutations outside of functions are built separately.
//
//	make mutate [PATTERN=REGEXP]    those whose name, file or test matches
//
// Unstopped attacks do harm, so it does not run as root.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"
)

func main() {
	if os.Geteuid() == 0 {
		fmt.Fprintln(os.Stderr, "mutate: tests whose defence is missing do harm. Run it as a user who can do none, "+
			"best on a machine to throw away.")
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

func run(pattern string) (missed int, err error) {
	wanted, err := choose(pattern)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "toolhost-mutate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	b, err := newBench(dir, wanted)
	if err != nil {
		return 0, err
	}
	fmt.Printf("%d mutations, tests built in %.0fs\n", len(wanted), time.Since(began).Seconds())
	var mu sync.Mutex
	twoAtATime(wanted, func(m mutation) {
		began := time.Now()
		how, said, err := b.try(m)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			missed++
			fmt.Printf("INVALID: %s: %v\n%s", m.name, err, said)
		case how == "":
			missed++
			fmt.Printf("MISSED: %s: %s in %s passes\n%s", m.name, m.test, m.packages, said)
		default:
			fmt.Printf("ok: %s (%s %s, %.0fs)\n", m.name, m.test, how, time.Since(began).Seconds())
		}
	})
	if missed == 0 {
		fmt.Printf("all %d mutations were noticed, in %.0fs\n", len(wanted), time.Since(began).Seconds())
	}
	return missed, nil
}

// choose returns the mutations that match the pattern, if the whole list agrees with the sources.
func choose(pattern string) ([]mutation, error) {
	matches, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	all, err := parse(mutations)
	if err != nil {
		return nil, err
	}
	var wanted []mutation
	for _, m := range all {
		if _, applyErr := m.apply(); applyErr != nil {
			err = errors.Join(err, applyErr)
		}
		if matches.MatchString(m.name + " " + m.file + " " + m.packages + " " + m.test) {
			wanted = append(wanted, m)
		}
	}
	return wanted, err
}

// twoAtATime calls do for each mutation, two concurrently: tests wait more than they work.
func twoAtATime(all []mutation, do func(mutation)) {
	next := make(chan mutation)
	var done sync.WaitGroup
	for range 2 {
		done.Go(func() {
			for m := range next {
				do(m)
			}
		})
	}
	for _, m := range all {
		next <- m
	}
	close(next)
	done.Wait()
}
