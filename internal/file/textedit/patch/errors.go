package patch

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
)

// ParseError says why a patch cannot be parsed. It wraps a *tool.Error of code invalid_argument, or unsupported for
// a kind of patch that is refused.
type ParseError struct {
	// Line is the patch's line, from 1; 0 for the patch as a whole.
	Line int
	err  *tool.Error
}

// Error implements error.
func (e *ParseError) Error() string { return e.err.Error() }

// Unwrap returns the *tool.Error.
func (e *ParseError) Unwrap() error { return e.err }

const parseHelp = "Give a unified diff: \"--- a/PATH\" and \"+++ b/PATH\", then \"@@ -LINE,COUNT +LINE,COUNT @@\" " +
	"and lines that begin with a blank, - or +."

func malformed(line int, format string, args ...any) error {
	return parseError(tool.InvalidArgument, line, parseHelp, format, args...)
}

func unsupported(line int, suggestion, format string, args ...any) error {
	return parseError(tool.Unsupported, line, suggestion, format, args...)
}

func parseError(code tool.Code, line int, suggestion, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if line > 0 {
		message = fmt.Sprintf("line %d of the patch: %s", line, message)
	}
	err := tool.Errorf(code, "%s", message).Suggest("%s", suggestion).With("line", line)
	return &ParseError{Line: line, err: err}
}

// HunkError says why a hunk does not fit the file. It wraps a *tool.Error of code conflict.
type HunkError struct {
	// Path is the file; Hunk counts its hunks from 1; PatchLine is where the hunk starts in the patch.
	Path      string
	Hunk      int
	PatchLine int
	// FileLine is the closest place in the file, from 1.
	FileLine int
	// Expected are the lines that the hunk requires there, Found the present ones, without line endings.
	Expected, Found []string
	// Applied is set if the file already has the hunk's new lines.
	Applied bool
	err     *tool.Error
}

// Error implements error.
func (e *HunkError) Error() string { return e.err.Error() }

// Unwrap returns the *tool.Error.
func (e *HunkError) Unwrap() error { return e.err }

const shownLines = 12

func (e *HunkError) misfit() *HunkError {
	return e.because("hunk %d of %s (line %d of the patch) does not fit: the file differs at line %d", e.Hunk, e.Path,
		e.PatchLine, e.FileLine)
}

func (e *HunkError) because(format string, args ...any) *HunkError {
	var b strings.Builder
	fmt.Fprintf(&b, format, args...)
	writeExcerpt(&b, "expected", e.Expected)
	writeExcerpt(&b, "found", e.Found)
	suggestion := "Read the file again and make the patch from what it holds now. Nothing was changed."
	if e.Applied {
		suggestion = "The file already reads as the hunk would leave it: it seems to be applied. Leave the hunk out. Nothing was changed."
	}
	e.err = e.about(tool.Errorf(tool.Conflict, "%s", b.String()).Suggest("%s", suggestion))
	return e
}

func (e *HunkError) about(err *tool.Error) *tool.Error {
	return err.With("path", e.Path).With("hunk", e.Hunk).With("line", e.FileLine).
		With("expected", e.Expected).With("found", e.Found)
}

func writeExcerpt(b *strings.Builder, title string, lines []string) {
	fmt.Fprintf(b, "\n%s (· is a space, → a tab, ␍ a carriage return):", title)
	for i, line := range lines {
		if i == shownLines {
			fmt.Fprintf(b, "\n  ... %d more lines", len(lines)-i)
			return
		}
		b.WriteString("\n  " + textedit.Visible(line))
	}
	if len(lines) == 0 {
		b.WriteString("\n  (no lines)")
	}
}

func missing(path string, f *File) error {
	return tool.Errorf(tool.NotFound, "%s does not exist, which line %d of the patch changes", path, f.Line).
		Suggest("Check the path, or make the patch create the file with --- /dev/null. Nothing was changed.").With("path", path)
}

func existing(path string, f *File) error {
	return tool.Errorf(tool.AlreadyExists, "%s exists already, which line %d of the patch creates", path, f.Line).
		Suggest("Make the patch change the file that is there. Nothing was changed.").With("path", path)
}
