// Package testproc lets tests wait for processes, and look at what they leave.
package testproc

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Alive reports whether a process runs. One that has ended and only waits to
// be collected does not.
func Alive(pid int) bool {
	if runtime.GOOS != "linux" {
		p, err := os.FindProcess(pid)
		return err == nil && p.Signal(syscall.Signal(0)) == nil
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before it may hold anything
	return err == nil && !strings.HasPrefix(state, " Z")
}

// Process is a process of this machine.
type Process struct {
	PID int
	// Line is the command line, with spaces between the arguments.
	Line string
}

// Running lists the processes whose command line holds text. It knows none but
// on Linux.
func Running(t testing.TB, text string) []Process {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []Process
	for _, file := range files {
		data, err := os.ReadFile(file)
		line := strings.TrimSuffix(strings.ReplaceAll(string(data), "\x00", " "), " ")
		if err == nil && strings.Contains(line, text) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			found = append(found, Process{pid, line})
		}
	}
	return found
}

// OpenFiles counts the files that this process has open. It is 0 but on Linux.
func OpenFiles(t testing.TB) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// WhenExists calls do, from another goroutine, as soon as there is a file at
// path: the way to cancel a call when its process has come so far. Without the
// file it ends with the test.
func WhenExists(t testing.TB, path string, do func()) {
	ended := t.Context().Done()
	go func() {
		for {
			if _, err := os.Stat(path); err == nil {
				do()
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
}

// LongEnough runs something with ever longer time limits, from the first, until it
// reports that it has come as far as it should within its limit. On a busy machine a
// process takes its time to begin.
func LongEnough(first time.Duration, run func(limit time.Duration) bool) {
	for limit := first; !run(limit) && limit < 2*time.Minute; limit *= 3 {
	}
}
