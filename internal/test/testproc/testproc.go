// Package testproc lets tests wait for processes, and look at what they leave.
package testproc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if line := commandLine(pid); strings.Contains(line, text) && line != "" {
			found = append(found, Process{pid, line})
		}
	}
	return found
}

// commandLine returns the arguments of a process with spaces between them, nothing for one that has ended.
func commandLine(pid int) string {
	data, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.TrimSuffix(strings.ReplaceAll(string(data), "\x00", " "), " ")
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

// openFiles returns what each descriptor of this process leads to.
func openFiles() (lines []string) {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		to, _ := os.Readlink(link)
		lines = append(lines, filepath.Base(link)+" "+to)
	}
	return lines
}

// Unchanged has a test fail that leaves behind what there was not when it was called: open files, goroutines, child
// processes, temporary files. It is for the beginning of a test that does something many times, and not for one that
// runs beside others. What ends by itself has a while for it.
func Unchanged(t testing.TB) {
	t.Helper()
	UnchangedWithin(t, leftFor)
}

// UnchangedWithin is Unchanged with as long for what ends by itself.
func UnchangedWithin(t testing.TB, while time.Duration) {
	t.Helper()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	if r, w, err := os.Pipe(); err == nil { // has Go's runtime open what it keeps for all pipes
		_, _ = r.Close(), w.Close()
	}
	files, goroutines, before := stableCounts(t)
	open := openFiles()
	t.Cleanup(func() {
		left := func() (text string) {
			if now := OpenFiles(t); now > files {
				more := slices.DeleteFunc(openFiles(), func(line string) bool { return slices.Contains(open, line) })
				text += fmt.Sprintf("%d open files, before %d, others than before:\n%s\n", now, files, strings.Join(more, "\n"))
			}
			if now := runtime.NumGoroutine(); now > goroutines {
				text += fmt.Sprintf("%d goroutines, before %d\n%s\n", now, goroutines, stacks())
			}
			if now := children(); now > before {
				text += fmt.Sprintf("%d child processes, before %d\n", now, before)
			}
			if entries, _ := os.ReadDir(temporary); len(entries) > 0 {
				text += fmt.Sprintf("temporary files: %v\n", entries)
			}
			return text
		}
		for end := time.Now().Add(while); left() != "" && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if text := left(); text != "" {
			t.Errorf("the test leaves behind: %s", text)
		}
	})
}

// stableCounts counts open files, goroutines and child processes when what earlier tests have left has ended: when the
// counts stay the same for a while.
func stableCounts(t testing.TB) (files, goroutines, processes int) {
	runtime.GC() // closes files that nobody has any longer
	for same, end := 0, time.Now().Add(leftFor); same < 10 && time.Now().Before(end); same++ {
		f, g, p := OpenFiles(t), runtime.NumGoroutine(), children()
		if f != files || g != goroutines || p != processes {
			files, goroutines, processes, same = f, g, p, 0
		}
		time.Sleep(2 * time.Millisecond)
	}
	return files, goroutines, processes
}

// leftFor is how long Unchanged waits for what ends by itself.
const leftFor = 30 * time.Second

// children counts the child processes of this one. It is 0 but on Linux.
func children() (count int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		count += len(bytes.Fields(data))
	}
	return count
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

// Overdue returns a context that runs out of time as soon as there is a file at path: the way to have a call time out
// when its process has come so far, however long that takes. Nothing knows of the time limit before.
func Overdue(t testing.TB, path string) context.Context {
	ctx := overdue{t.Context(), make(chan struct{})}
	WhenExists(t, path, func() { close(ctx.done) })
	return ctx
}

type overdue struct {
	context.Context
	done chan struct{}
}

func (o overdue) Done() <-chan struct{} { return o.done }

func (o overdue) Err() error {
	select {
	case <-o.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// LongEnough runs something with ever longer time limits, from the first, until it
// reports that it has come as far as it should within its limit. On a busy machine a
// process takes its time to begin.
func LongEnough(first time.Duration, run func(limit time.Duration) bool) {
	for limit := first; !run(limit) && limit < 2*time.Minute; limit *= 3 {
	}
}
