package testproc

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Output keeps all output of a program, including what a test has already found, so that a
// test can wait in turn for outputs that come in any order.
type Output struct {
	mu    sync.Mutex
	text  strings.Builder
	ended chan struct{}
}

// Listen reads a stream to its end.
func Listen(stream io.Reader) *Output {
	s := &Output{ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		_, _ = io.Copy((*keeper)(s), stream)
	}()
	return s
}

type keeper Output

func (k *keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

// Text returns the output so far.
func (s *Output) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Ended is closed when the stream has ended.
func (s *Output) Ended() <-chan struct{} { return s.ended }

// Find waits for a whole line that matches, and returns the match of the pattern's last group.
func (s *Output) Find(t testing.TB, pattern string) (found string) {
	t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	s.until(t, "a line with "+pattern, func(text string, ended bool) bool {
		if !ended {
			text = text[:strings.LastIndexByte(text, '\n')+1]
		}
		m := re.FindStringSubmatch(text)
		if m != nil {
			found = m[len(m)-1]
		}
		return m != nil
	})
	return found
}

// Shows waits for a text, also in an unfinished line.
func (s *Output) Shows(t testing.TB, part string) {
	t.Helper()
	s.until(t, fmt.Sprintf("%q", part), func(text string, _ bool) bool { return strings.Contains(text, part) })
}

// until fails at once if the stream ends before the condition is met.
func (s *Output) until(t testing.TB, what string, found func(text string, ended bool) bool) {
	t.Helper()
	Until(t, what, func() (bool, string) {
		ended := false
		select {
		case <-s.ended:
			ended = true
		default:
		}
		text := s.Text()
		if found(text, ended) {
			return true, ""
		}
		if ended {
			t.Fatalf("the program ended without %s; it said:\n%s", what, text)
		}
		return false, "it said:\n" + text
	})
}
