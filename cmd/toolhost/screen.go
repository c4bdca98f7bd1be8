package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/internal/show"
)

// screen is a terminal. What others wrote reaches it made harmless, whoever
// prints it.
type screen struct {
	show.Writer
	file *os.File

	mu     sync.Mutex
	status bool // the cursor is in the line of a status
}

// onScreen guards a stream that is a terminal. Others get bytes as they are.
func onScreen(stream io.Writer) io.Writer {
	file := terminal(stream)
	if file == nil {
		return stream
	}
	return &screen{Writer: show.Writer{To: file, Pass: colours}, file: file}
}

// flush writes what is held back of an incomplete end.
func flush(stream io.Writer) {
	if s, ok := stream.(*screen); ok {
		_ = s.Flush()
	}
}

// terminal is the terminal behind a stream, nil where there is none.
func terminal(stream any) *os.File {
	switch s := stream.(type) {
	case *sink:
		return terminal(s.Writer)
	case *screen:
		return s.file
	case *os.File:
		if term.IsTerminal(int(s.Fd())) {
			return s
		}
	}
	return nil
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool { return terminal(stream) != nil }

// raw takes the guard off the standard output.
func (a *app) raw() {
	if s, ok := a.out.(*sink); ok {
		if file := terminal(s); file != nil {
			s.Writer = file
		}
	}
}
