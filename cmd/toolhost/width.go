package main

import (
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminalWidth is how many columns a terminal has, and 0 for what is none.
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

// writeFitting writes lines, on a terminal cut to its width, so that each
// stays one line. A width of 0 cuts nothing.
func writeFitting(w io.Writer, text []byte, width int) error {
	if width <= 0 {
		_, err := w.Write(text)
		return err
	}
	var fitting bytes.Buffer
	for line := range bytes.Lines(text) {
		end := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimRight(line, " \n")
		if utf8.RuneCount(line) > width {
			fitting.WriteString(string([]rune(string(line))[:width-1]) + "…")
		} else {
			fitting.Write(line)
		}
		if end {
			fitting.WriteByte('\n')
		}
	}
	_, err := w.Write(fitting.Bytes())
	return err
}
