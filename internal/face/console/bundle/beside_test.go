package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Calls are as fast with an open console as without. make bench-console measures both, by turns.
func TestCallsBesideAConsole(t *testing.T) {
	rounds, calls := 1, 50
	if os.Getenv("CONSOLE_CALLS") != "" {
		rounds, calls = 10, 500
	}
	u := newUser(t)
	u.write("agent.hcl", "")
	u.write("a.txt", "hello\n")
	s := u.connect("one")
	reading := func() (all []float64) {
		for range calls {
			began := time.Now()
			told := s.call("read_file", map[string]any{"path": "a.txt"})
			all = append(all, float64(time.Since(began).Microseconds()))
			if !strings.Contains(told, "hello") {
				t.Fatal(told)
			}
		}
		return all
	}
	reading()
	cost := map[string][]float64{}
	for range rounds {
		cost["no console"] = append(cost["no console"], reading()...)
		address, stop := u.startConsole()
		cost["a console, no page"] = append(cost["a console, no page"], reading()...)
		_, _, away := u.openAt(address).inbox()
		cost["a page is open"] = append(cost["a page is open"], reading()...)
		away()
		stop()
	}
	middle := func(of string) float64 { slices.Sort(cost[of]); return cost[of][len(cost[of])/2] }
	none := middle("no console")
	for _, of := range []string{"no console", "a console, no page", "a page is open"} {
		t.Logf("%-20s %6.0f us a call, ratio %.2f (median of %d)", of, middle(of), middle(of)/none, len(cost[of]))
	}
}
