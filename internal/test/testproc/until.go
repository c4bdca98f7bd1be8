package testproc

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// Patience is how long tests wait for a step of a program on a machine that has much
// else to do. What is waited for comes within milliseconds on another.
const Patience = 90 * time.Second

// Until waits for a condition, with the state that is printed where it does not come
// true. The condition is asked in the test's own goroutine, so that it may end the test.
func Until(t testing.TB, what string, condition func() (done bool, state string)) {
	t.Helper()
	until(t, Patience, what, condition)
}

func until(t testing.TB, limit time.Duration, what string, condition func() (done bool, state string)) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		late := time.Now().After(end) // before the last look
		done, state := condition()
		if done {
			return
		}
		if late {
			t.Fatalf("not within %s: %s\n%s", limit, what, state)
		}
	}
}

// Receive returns what comes next from a channel, or its zero value once it is closed.
// Where nothing comes, the test ends with what was waited for, and with what all
// goroutines do.
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

// stacks returns what all goroutines do.
func stacks() []byte {
	text := make([]byte, 1<<20)
	return text[:runtime.Stack(text, true)]
}

// Quickly does something, and again until it took less than a limit: what the product
// takes for a person's doing where it takes longer, on a busy machine too.
func Quickly(limit time.Duration, do func()) {
	for range 20 {
		began := time.Now()
		if do(); time.Since(began) < limit {
			return
		}
	}
}
