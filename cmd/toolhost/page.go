package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/host/tool"
)

// page writes a text. On a terminal that is too low for it, it waits after each
// screen: nothing of the text has left the screen before it could be read. Its
// lines must fit the terminal's width. Whoever stops has not seen it all, so that
// is an error.
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

// screenful is how many lines are shown at one time, 0 for any number: where the
// text does not go to a terminal, or nobody is there to read on.
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
