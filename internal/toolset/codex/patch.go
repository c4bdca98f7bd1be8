package codex

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/tool"
)

const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File: "
	deleteFile = "*** Delete File: "
	updateFile = "*** Update File: "
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
)

// hunk changes one file: one of the three headers, with a new file's text or chunks.
type hunk struct {
	header, path, move, text string
	chunks                   []chunk
}

// chunk replaces lines that follow a line of context.
type chunk struct {
	context  string
	anchored bool // has a line of context
	old, new []string
	atEnd    bool
}

func badPatch(format string, args ...any) error {
	return tool.Errorf(tool.InvalidArgument, "invalid patch: "+format, args...).
		Suggest("A patch is: %s, sections that begin with %q, %q or %q, %s.", beginPatch, addFile, deleteFile, updateFile,
			endPatch)
}

func badHunk(line int, format string, args ...any) error {
	return tool.Errorf(tool.InvalidArgument, "invalid hunk at line %d, %s", line, fmt.Sprintf(format, args...))
}

// parsePatch parses a patch. Blanks around its first and last line, and a here-document around it, are
// allowed.
func parsePatch(text string) ([]hunk, error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\n")
	err := checkEnds(lines)
	if n := len(lines); err != nil && n >= 4 && strings.HasSuffix(lines[n-1], "EOF") &&
		slices.Contains([]string{"<<EOF", "<<'EOF'", `<<"EOF"`}, lines[0]) {
		lines = lines[1 : n-1]
		err = checkEnds(lines)
	}
	if err != nil {
		return nil, err
	}
	r := &patchReader{lines: lines[:len(lines)-1], at: 1}
	var hunks []hunk
	for !r.done() {
		h, err := r.hunk()
		if err != nil {
			return nil, err
		}
		hunks = append(hunks, h)
	}
	return hunks, nil
}

func checkEnds(lines []string) error {
	if strings.TrimSpace(lines[0]) != beginPatch {
		return badPatch("The first line of the patch must be '%s'", beginPatch)
	}
	if len(lines) == 1 || strings.TrimSpace(lines[len(lines)-1]) != endPatch {
		return badPatch("The last line of the patch must be '%s'", endPatch)
	}
	return nil
}

// patchReader reads lines. at is the index of the next one.
type patchReader struct {
	lines []string
	at    int
}

func (r *patchReader) done() bool   { return r.at >= len(r.lines) }
func (r *patchReader) next() string { return r.lines[r.at] }

func (r *patchReader) hunk() (h hunk, err error) {
	start := r.at + 1
	first := strings.TrimSpace(r.next())
	for _, header := range []string{addFile, deleteFile, updateFile} {
		if path, ok := strings.CutPrefix(first, header); ok {
			h.header, h.path = header, path
		}
	}
	r.at++
	switch h.header {
	case addFile:
		var text strings.Builder
		for ; !r.done() && strings.HasPrefix(r.next(), "+"); r.at++ {
			text.WriteString(r.next()[1:] + "\n")
		}
		h.text = text.String()
	case updateFile:
		if err := r.change(&h); err != nil {
			return h, err
		}
		if len(h.chunks) == 0 {
			return h, badHunk(start, "Update file hunk for path '%s' is empty", h.path)
		}
	case "":
		return h, badHunk(start, "'%s' is not a valid hunk header. Valid hunk headers: '%s{path}', '%s{path}', '%s{path}'",
			first, addFile, deleteFile, updateFile)
	}
	return h, nil
}

func (r *patchReader) change(h *hunk) error {
	if !r.done() && strings.HasPrefix(r.next(), moveTo) {
		h.move = strings.TrimSpace(r.next()[len(moveTo):])
		r.at++
	}
	for !r.done() {
		if strings.TrimSpace(r.next()) == "" { // between chunks
			r.at++
			continue
		}
		if strings.HasPrefix(r.next(), "*") {
			return nil
		}
		c, err := r.chunk(len(h.chunks) == 0)
		if err != nil {
			return err
		}
		h.chunks = append(h.chunks, c)
	}
	return nil
}

// chunk reads one chunk. A file's first needs no line of context.
func (r *patchReader) chunk(first bool) (c chunk, err error) {
	start := r.at + 1
	switch context, ok := strings.CutPrefix(r.next(), "@@ "); {
	case ok:
		c.context, c.anchored = context, true
		r.at++
	case r.next() == "@@":
		r.at++
	case !first:
		return c, badHunk(start, "Expected update hunk to start with a @@ context marker, got: '%s'", r.next())
	}
	for n := 0; ; n++ {
		if r.done() || r.next() == endOfFile {
			if n == 0 {
				return c, badHunk(start+1, "Update hunk does not contain any lines")
			}
			if c.atEnd = !r.done(); c.atEnd {
				r.at++
			}
			return c, nil
		}
		line := r.next()
		switch {
		case line == "":
			c.old, c.new = append(c.old, ""), append(c.new, "")
		case line[0] == ' ':
			c.old, c.new = append(c.old, line[1:]), append(c.new, line[1:])
		case line[0] == '+':
			c.new = append(c.new, line[1:])
		case line[0] == '-':
			c.old = append(c.old, line[1:])
		case n == 0:
			return c, badHunk(start+1, "Unexpected line found in update hunk: '%s'. Every line should start with ' ' "+
				"(context line), '+' (added line), or '-' (removed line)", line)
		default: // the next chunk or header
			return c, nil
		}
		r.at++
	}
}

// changed applies an update's chunks to a file's text. The result ends with a newline.
func changed(name, text string, chunks []chunk) (string, error) {
	crlf := strings.Count(text, "\n") > 0 && strings.Count(text, "\r\n") == strings.Count(text, "\n")
	if crlf {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	type replacement struct {
		at, count int
		with      []string
	}
	var replacements []replacement
	from := 0
	for _, c := range chunks {
		if c.anchored {
			at := seek(lines, []string{c.context}, from, false)
			if at < 0 {
				return "", tool.Errorf(tool.NoMatch, "Failed to find context '%s' in %s", c.context, name).
					Suggest("Read the file again: a line of context has to be in it, behind the chunk before.")
			}
			from = at + 1
		}
		if len(c.old) == 0 { // append
			replacements = append(replacements, replacement{len(lines), 0, c.new})
			continue
		}
		old, with := c.old, c.new
		at := seek(lines, old, from, c.atEnd)
		if at < 0 && old[len(old)-1] == "" { // the end of the file
			old = old[:len(old)-1]
			if len(with) > 0 && with[len(with)-1] == "" {
				with = with[:len(with)-1]
			}
			at = seek(lines, old, from, c.atEnd)
		}
		if at < 0 {
			return "", tool.Errorf(tool.NoMatch, "Failed to find expected lines in %s:\n%s", name,
				strings.Join(c.old, "\n")).
				Suggest("Read the file again: the lines have to follow each other in it, behind the chunk before.")
		}
		replacements = append(replacements, replacement{at, len(old), with})
		from = at + len(old)
	}
	slices.SortStableFunc(replacements, func(a, b replacement) int { return a.at - b.at })
	for _, r := range slices.Backward(replacements) {
		lines = slices.Concat(lines[:r.at], r.with, lines[r.at+r.count:])
	}
	if len(lines) == 0 || lines[len(lines)-1] != "" {
		lines = append(lines, "")
	}
	text = strings.Join(lines, "\n")
	if crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text, nil
}

// readings normalize a line for comparison, strictest first: as it is, without trailing blanks,
// trimmed, and with plain signs for similar ones.
var readings = []func(string) string{
	func(line string) string { return line },
	func(line string) string { return strings.TrimRightFunc(line, unicode.IsSpace) },
	strings.TrimSpace,
	func(line string) string { return strings.TrimSpace(strings.Map(plain, strings.TrimSpace(line))) },
}

// plain returns a plain sign for one that looks like it.
func plain(r rune) rune {
	switch {
	case r >= '\u2010' && r <= '\u2015' || r == '\u2212':
		return '-'
	case r >= '\u2018' && r <= '\u201b':
		return '\''
	case r >= '\u201c' && r <= '\u201f':
		return '"'
	case r == '\u00a0' || r >= '\u2002' && r <= '\u200a' || r == '\u202f' || r == '\u205f' || r == '\u3000':
		return ' '
	}
	return r
}

// seek returns the index of lines in all, at or after from, or at the end; -1 if not found.
func seek(all, lines []string, from int, atEnd bool) int {
	if len(lines) == 0 {
		return from
	}
	last := len(all) - len(lines)
	if atEnd {
		from = last
	}
	if from < 0 {
		return -1
	}
	for _, reading := range readings {
		for i := from; i <= last; i++ {
			same := true
			for j := 0; same && j < len(lines); j++ {
				same = reading(all[i+j]) == reading(lines[j])
			}
			if same {
				return i
			}
		}
	}
	return -1
}
