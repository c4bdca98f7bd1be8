package main

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/internal/show"
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
		fitting.WriteString(show.Fit(string(line), width))
		if end {
			fitting.WriteByte('\n')
		}
	}
	_, err := w.Write(fitting.Bytes())
	return err
}

// wrapped breaks a text between words so that it fits a terminal of that width
// behind a margin, which the further lines begin with. A width of 0 breaks
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
