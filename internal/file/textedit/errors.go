package textedit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// MatchError says why nothing was replaced. It wraps a *tool.Error with the same in words.
type MatchError struct {
	// Code is no_match, not_unique, no_change, invalid_argument or, if the file's encoding lacks characters of the
	// replacement, unsupported.
	Code tool.Code
	// Want is the number of occurrences requested; for Nth, which one.
	Want int
	// Count is the number of occurrences, Lines where they start.
	Count int
	Lines []int
	// Nearest are the closest places, best first, on a miss.
	Nearest []Near

	err *tool.Error
}

// Error implements error.
func (e *MatchError) Error() string { return e.err.Error() }

// Unwrap returns the *tool.Error.
func (e *MatchError) Unwrap() error { return e.err }

const nearestShown = 3

func noChange(why, suggestion string) error {
	err := tool.Errorf(tool.NoChange, "nothing would change: %s", why).Suggest("%s", suggestion)
	return &MatchError{Code: err.Code, err: err}
}

func lacking(what string) error {
	err := tool.Errorf(tool.Unsupported,
		"the file is in an 8-bit encoding such as Latin-1, which lacks characters of the %s", what).
		Suggest("Use characters that Latin-1 has, or convert the file to UTF-8 first.")
	return &MatchError{Code: err.Code, err: err}
}

func (t *Text) noMatch(old string, want int) error {
	near := t.Nearest(old, nearestShown)
	message := "the text does not occur in the file"
	if len(near) > 0 {
		message += "\n" + Explain(near)
	}
	err := tool.Errorf(tool.NoMatch, "%s", message).
		Suggest("%s", MissSuggestion(near)).With("nearest", near)
	return &MatchError{Code: err.Code, Want: want, Nearest: near, err: err}
}

// MissSuggestion returns the next step after a miss with these nearest places.
func MissSuggestion(near []Near) string {
	if len(near) > 0 && near[0].WhitespaceOnly {
		return fmt.Sprintf("If line %d is what you mean, repeat the call with its exact whitespace.", near[0].Line)
	}
	return "Read the file again and copy the text to find exactly, whitespace included."
}

func miscounted(which Which, want int, lines []int) error {
	message := fmt.Sprintf("expected %s but found %d, at %s", Occurrences(want), len(lines), AtLines(lines))
	if which == Nth {
		message = fmt.Sprintf("there is no occurrence %d: the text occurs only %d times, at %s", want, len(lines),
			AtLines(lines))
	}
	err := tool.Errorf(tool.NotUnique, "%s", message).
		Suggest("Take in more of the surrounding lines to make the text unique, or name the number of occurrences that you mean.").
		With("count", len(lines)).With("lines", lines)
	return &MatchError{Code: err.Code, Want: want, Count: len(lines), Lines: lines, err: err}
}

// Occurrences returns "1 occurrence", "2 occurrences".
func Occurrences(n int) string {
	if n == 1 {
		return "1 occurrence"
	}
	return strconv.Itoa(n) + " occurrences"
}

const linesShown = 20

// FirstLines limits a list of line numbers for an error's details.
func FirstLines(lines []int) []int { return lines[:min(len(lines), linesShown)] }

// AtLines returns line numbers for a message: "line 3", "lines 3, 9 and 12", each once; a long list is cut, with
// the number left out.
func AtLines(lines []int) string {
	lines = slices.Compact(slices.Clone(lines))
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	shown := lines[:min(len(lines), linesShown)]
	words := make([]string, len(shown))
	for i, n := range shown {
		words[i] = strconv.Itoa(n)
	}
	if left := len(lines) - len(shown); left > 0 {
		return fmt.Sprintf("lines %s and %d more", strings.Join(words, ", "), left)
	}
	last := len(words) - 1
	return fmt.Sprintf("lines %s and %s", strings.Join(words[:last], ", "), words[last])
}
