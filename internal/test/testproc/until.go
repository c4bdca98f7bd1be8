package testproc

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// Patience limits a test's wait for a step of a program. The step takes milliseconds on
// an idle machine, and far longer on a busy one.
const Patience = 90 * time.Second

// Until waits for a condition; the state is printed if it does not become true. The
// condition runs in the test's goroutine, so it may end the test.
func Until(t testing.TB, what string, condition func() (done bool, state string)) {
	t.Helper()
	until(t, Patience, what, condition)
}

func until(t testing.TB, limit time.Duration, what string, condition func() (done bool, state string)) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		late := time.Now().After(end) // before the last check
		done, state := condition()
		if done {
			return
		}
		if late {
			t.Fatalf("not within %s: %s\n%s", limit, what, state)
		}
	}
}

// Receive returns the next value from a channel, or the zero value once it is closed.
// If none comes, the test fails with what was awaited and the stacks of all
// goroutines.
func Receive[T any](t testing.TB, from <-chan T, what ...string) T {
	t.Helper()
	return receive(t, Patience, from, what...)
}

func receive[T any](t testing.TB, limit time.Duration, from <-chan T, what ...string) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(limit):
		t.Fatalf("nothing was received within %s: %s\n%s", limit, strings.Join(what, " "), stacks())
	}
	return value
}

func stacks() []byte {
	text := make([]byte, 1<<20)
	return text[:runtime.Stack(text, true)]
}

// Quickly repeats do, up to 20 times, until it takes less than limit. It is for an answer by a program:
// one that a busy machine makes late would be taken for a person's.
func Quickly(limit time.Duration, do func()) {
	for range 20 {
		began := time.Now()
		if do(); time.Since(began) < limit {
			return
		}
	}
}
