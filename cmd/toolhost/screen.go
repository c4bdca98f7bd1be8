package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// screen is a terminal that makes control sequences harmless.
type screen struct {
	show.Writer
	file *os.File

	mu     sync.Mutex
	status bool // the cursor is in a status line
}

// onScreen guards a stream that is a terminal. Others are unchanged.
func onScreen(stream io.Writer) io.Writer {
	file := terminal(stream)
	if file == nil {
		return stream
	}
	return &screen{Writer: show.Writer{To: file, Pass: colours}, file: file}
}

// flush writes an incomplete end that is held back.
func flush(stream io.Writer) {
	if s, ok := stream.(*screen); ok {
		_ = s.Flush()
	}
}

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

func isTerminal(stream any) bool { return terminal(stream) != nil }

// raw removes the guard from the standard output.
func (a *app) raw() {
	if s, ok := a.out.(*sink); ok {
		if file := terminal(s); file != nil {
			s.Writer = file
		}
	}
}

// page writes a text whose lines fit the terminal. If it is longer than the terminal, it waits after
// each screen, so that all is seen; stopping is an error.
func (a *app) page(ctx context.Context, to io.Writer, text string) error {
	rest := strings.SplitAfter(text, "\n")
	total, step := strings.Count(text, "\n"), a.screenful(to)
	for step > 0 && len(rest) > step {
		if _, err := io.WriteString(to, strings.Join(rest[:step], "")); err != nil {
			return err
		}
		rest = rest[step:]
		line, ended, err := a.readLine(ctx,
			fmt.Sprintf("-- %d of %d lines. Enter for more, a for all, q to stop: ",
				total-strings.Count(strings.Join(rest, ""), "\n"), total))
		if err != nil {
			return err
		}
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case ended && line == "", strings.HasPrefix(answer, "q"), strings.HasPrefix(answer, "n"):
			return tool.Errorf(tool.Cancelled,
				"you stopped before all of it was shown").Suggest("Nothing was approved or run.")
		case answer == "a":
			step = 0
		}
	}
	_, err := io.WriteString(to, strings.Join(rest, ""))
	return err
}

// screenful returns the number of lines to show at a time; 0 means all, if not a terminal or without
// input.
func (a *app) screenful(to io.Writer) int {
	file := terminal(to)
	if file == nil || !isTerminal(a.in) {
		return 0
	}
	_, height, err := term.GetSize(int(file.Fd()))
	if err != nil || height <= 0 {
		return 0
	}
	return max(height-1, 5)
}

// terminalWidth returns a terminal's columns, 0 for other streams.
func terminalWidth(stream any) int {
	file := terminal(stream)
	if file == nil {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// writeFitting writes lines, cut to width unless that is 0, so that each stays one line.
func writeFitting(w io.Writer, text []byte, width int) error {
	if width <= 0 {
		_, err := w.Write(text)
		return err
	}
	var fitting bytes.Buffer
	for line := range bytes.Lines(text) {
		end := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimRight(line, " \n")
		fitting.WriteString(show.Fit(string(line), width))
		if end {
			fitting.WriteByte('\n')
		}
	}
	_, err := w.Write(fitting.Bytes())
	return err
}

// wrapped breaks a text between words to fit width. Further lines begin with a margin. Width 0 breaks
// nothing.
func wrapped(text string, width, margin int) string {
	const least = 20
	if width <= 0 || width-margin < least {
		return text
	}
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		room := width - margin
		for j, word := range strings.Split(line, " ") {
			size := utf8.RuneCountInString(word)
			switch {
			case j == 0:
			case size+1 > room:
				b.WriteString("\n" + strings.Repeat(" ", margin))
				room = width - margin
			default:
				b.WriteByte(' ')
				room--
			}
			b.WriteString(word)
			room -= size
		}
	}
	return b.String()
}
