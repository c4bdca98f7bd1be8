package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said keeps all lines of a program, so that lines in no fixed order can be awaited one by one.
type said struct {
	mu    sync.Mutex
	text  string
	ended bool
}

func listen(stream io.Reader) *said {
	s := new(said)
	go func() {
		for lines := bufio.NewScanner(stream); lines.Scan(); {
			s.mu.Lock()
			s.text += strings.TrimRight(lines.Text(), "\r") + "\n"
			s.mu.Unlock()
		}
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		_, _ = io.Copy(io.Discard, stream)
	}()
	return s
}

// now returns the text so far, and whether the stream ended.
func (s *said) now() (text string, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text, s.ended
}

// find waits for a line and returns the pattern's last group.
func (s *said) find(t *testing.T, pattern string) string {
	t.Helper()
	line := regexp.MustCompile("(?m)" + pattern)
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		late := time.Now().After(until)
		text, ended := s.now()
		if m := line.FindStringSubmatch(text); m != nil {
			return m[len(m)-1]
		}
		if late || ended {
			t.Fatalf("no line is %s, the program has ended: %t; it said:\n%s", pattern, ended, text)
		}
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("never: " + what)
		}
	}
}

// program writes a program. The lock keeps concurrently started processes from inheriting the open
// file: a file open for writing cannot be executed.
func program(t *testing.T, path string, data []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	err := os.WriteFile(path+".replaces", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".replaces", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSaid(t *testing.T) {
	r, w := io.Pipe()
	s := listen(r)
	if _, err := io.WriteString(w, "second b\r\nfirst a\nthi"); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(w, "rd c\n"); w.Close() }()
	for _, x := range [][2]string{{`^first (\w)`, "a"}, {`^second (\w)$`, "b"}, {"^first .$", "first a"},
		{`^third (\w)`, "c"}} {
		if got := s.find(t, x[0]); got != x[1] {
			t.Errorf("%s: %q", x[0], got)
		}
	}
	eventually(t, "its end", func() bool { _, ended := s.now(); return ended })
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, text := range []string{"one", "two"} {
		replace(t, path, text)
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q %v", got, err)
		}
	}
}
