// Package testproc lets tests wait for processes, and check what they leave.
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

// Alive reports whether a process runs. A zombie does not.
func Alive(pid int) bool {
	if runtime.GOOS != "linux" {
		p, err := os.FindProcess(pid)
		return err == nil && p.Signal(syscall.Signal(0)) == nil
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before it may contain anything
	return err == nil && !strings.HasPrefix(state, " Z")
}

// Process is a process of this machine.
type Process struct {
	PID int
	// Line is the command line, with spaces between arguments.
	Line string
}

// Running returns the processes whose command line contains text; none except on Linux.
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

// commandLine returns a process's arguments with spaces between them, "" if it has ended.
func commandLine(pid int) string {
	data, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.TrimSuffix(strings.ReplaceAll(string(data), "\x00", " "), " ")
}

// OpenFiles counts this process's open files; 0 except on Linux.
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

// Unchanged fails a test that leaves new open files, goroutines, child processes or temporary files. Call it at the
// start of a test that does something many times and is not parallel. What ends by itself has leftFor to do so.
func Unchanged(t testing.TB) {
	t.Helper()
	UnchangedWithin(t, leftFor)
}

// UnchangedWithin is Unchanged with while instead of leftFor.
func UnchangedWithin(t testing.TB, while time.Duration) {
	t.Helper()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	if r, w, err := os.Pipe(); err == nil { // makes Go's runtime open what it keeps for all pipes
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

// stableCounts counts open files, goroutines and child processes once the counts stay the same for a while, so that
// earlier tests' remains have ended.
func stableCounts(t testing.TB) (files, goroutines, processes int) {
	runtime.GC() // closes unreferenced files
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

// children counts this process's child processes; 0 except on Linux.
func children() (count int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		count += len(bytes.Fields(data))
	}
	return count
}

// WhenExists calls do, from another goroutine, as soon as there is a file at
// path: it cancels a call when its process has come that far. Without the file
// it ends with the test.
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

// Overdue returns a context that exceeds its deadline as soon as there is a file at path, so that a call times out
// when its process has come that far. The deadline is not visible before.
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

// LongEnough runs something with increasing time limits, starting with first, until
// it reports that it came far enough within its limit. On a busy machine a process
// starts slowly.
func LongEnough(first time.Duration, run func(limit time.Duration) bool) {
	for limit := first; !run(limit) && limit < 2*time.Minute; limit *= 3 {
	}
}
