package testproc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience limits every wait, well above what a busy machine needs.
const patience = time.Minute

// Sleeper is a command line, sleep with a number that is unique on the machine. It can be part of a script, and as
// a comment it marks another.
type Sleeper string

// Sleep returns a command line for a test. Processes with it are killed when the test ends.
func Sleep(t testing.TB) Sleeper {
	t.Helper()
	s := Sleeper(fmt.Sprintf("sleep %d", 100_000_000_000+rand.Int64N(900_000_000_000)))
	t.Cleanup(func() {
		for _, p := range Running(t, string(s)) {
			_ = kill(p.PID)
		}
	})
	return s
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }() // may be an open file
	return p.Kill()
}

// Number returns the number, for separate arguments.
func (s Sleeper) Number() string { return strings.TrimPrefix(string(s), "sleep ") }

// Running returns the processes with it in their command lines.
func (s Sleeper) Running(t testing.TB) []Process {
	t.Helper()
	return Running(t, string(s))
}

// Started waits until a process has it in its command line, which is empty for a moment while a program is replaced.
func (s Sleeper) Started(t testing.TB) {
	t.Helper()
	Until(t, string(s)+" runs", func() (bool, string) { return len(s.Running(t)) > 0, "" })
}

// Gone waits until no process has it in its command line.
func (s Sleeper) Gone(t testing.TB) {
	t.Helper()
	awaitEmpty(t, patience, func() (left []string) {
		for _, p := range s.Running(t) {
			left = append(left, describe(p))
		}
		return left
	})
}

// Gone waits until the processes have ended: a killed one takes a moment.
func Gone(t testing.TB, pids ...int) {
	t.Helper()
	awaitEmpty(t, patience, func() (left []string) {
		for _, pid := range slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !Alive(pid) }) {
			left = append(left, describe(Process{PID: pid, Line: commandLine(pid)}))
		}
		return left
	})
}

// awaitEmpty waits until left returns nothing, else it fails the test with what is left.
func awaitEmpty(t testing.TB, while time.Duration, left func() []string) {
	t.Helper()
	list := left()
	for end := time.Now().Add(while); len(list) > 0 && time.Now().Before(end); list = left() {
		time.Sleep(5 * time.Millisecond)
	}
	if len(list) > 0 {
		t.Fatalf("still running after %s:\n%s", while, strings.Join(list, "\n"))
	}
}

func describe(p Process) string {
	stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "stat"))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return fmt.Sprintf("%d: %s", p.PID, p.Line)
	}
	return fmt.Sprintf("%d, state %s, child of %s: %s", p.PID, fields[0], fields[1], p.Line)
}
