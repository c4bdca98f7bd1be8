package codex

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
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
	lines    []line
	atEnd    bool
}

// line is a line that is kept, removed or added.
type line struct {
	op   byte // ' ', '-' or '+'
	text string
}

// old returns the texts of the lines that are kept or removed.
func old(lines []line) (texts []string) {
	for _, l := range lines {
		if l.op != '+' {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// withoutLast returns lines without the last old and the last new one if they are empty: they may stand for the end
// of the file.
func withoutLast(lines []line) []line {
	lines = slices.Clone(lines)
	for _, side := range []struct{ op, other byte }{{'-', '+'}, {'+', '-'}} {
		for i, l := range slices.Backward(lines) {
			if l.op == side.other {
				continue
			}
			if l.text == "" && l.op == ' ' {
				lines[i].op = side.other
			} else if l.text == "" {
				lines = slices.Delete(lines, i, i+1)
			}
			break
		}
	}
	return lines
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
		text := r.next()
		switch {
		case text == "":
			c.lines = append(c.lines, line{' ', ""})
		case strings.ContainsRune(" -+", rune(text[0])):
			c.lines = append(c.lines, line{text[0], text[1:]})
		case n == 0:
			return c, badHunk(start+1, "Unexpected line found in update hunk: '%s'. Every line should start with ' ' "+
				"(context line), '+' (added line), or '-' (removed line)", text)
		default: // the next chunk or header
			return c, nil
		}
		r.at++
	}
}

// edit is a chunk and the index of its first line in the file.
type edit struct {
	at    int
	lines []line
}

// changed applies an update's chunks to a file's content. All lines but those removed stay byte for byte; an added one
// gets the file's encoding and the line ending of its place.
func changed(name string, data []byte, chunks []chunk) ([]byte, error) {
	text, err := textedit.Decode(data)
	if err != nil {
		return nil, worded(err, "Failed to update file "+name)
	}
	kept, endings := text.Lines()
	edits, err := find(name, shown(text, kept), chunks)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	used, open := 0, false // lines of the file; the last line written has no ending
	put := func(line, ending string) {
		if open {
			out.WriteString(endingAt(endings, used))
		}
		out.WriteString(line + ending)
		open = ending == ""
	}
	keep := func(until int) {
		for ; used < until; used++ {
			put(kept[used], endings[used])
		}
	}
	for _, e := range edits {
		keep(e.at)
		for _, l := range e.lines {
			switch l.op {
			case ' ':
				keep(used + 1)
			case '-':
				used++
			default:
				added, err := text.Form(l.text)
				if err != nil {
					return nil, worded(err, "Failed to update file "+name)
				}
				put(added, endingAt(endings, used))
			}
		}
	}
	keep(len(kept))
	text.SetString(out.String())
	return text.Encode(), nil
}

// shown returns lines for comparison with those of a patch, which is UTF-8.
func shown(text *textedit.Text, kept []string) []string {
	if text.Encoding() != textedit.Bytes {
		return kept
	}
	list := make([]string, len(kept))
	for i, line := range kept {
		list[i] = lines.Shown([]byte(line))
	}
	return list
}

// endingAt returns the line ending for a line added before line i of a file: that of the line ahead of it.
func endingAt(endings []string, i int) string {
	for i = max(i, 1) - 1; 0 <= i && i < len(endings); i-- {
		if endings[i] != "" {
			return endings[i]
		}
	}
	return "\n"
}

// find returns the chunks in the order of the file's lines. They never overlap.
func find(name string, all []string, chunks []chunk) ([]edit, error) {
	var edits []edit
	from := 0
	for _, c := range chunks {
		if c.anchored {
			at := seek(all, []string{c.context}, from, false)
			if at < 0 {
				return nil, tool.Errorf(tool.NoMatch, "Failed to find context '%s' in %s", c.context, name).
					Suggest("Read the file again: a line of context has to be in it, behind the chunk before.")
			}
			from = at + 1
		}
		want := old(c.lines)
		if len(want) == 0 { // append
			edits = append(edits, edit{len(all), c.lines})
			continue
		}
		with := c.lines
		at := seek(all, want, from, c.atEnd)
		if at < 0 && want[len(want)-1] == "" {
			with = withoutLast(with)
			at = seek(all, old(with), from, c.atEnd)
		}
		if at < 0 {
			return nil, tool.Errorf(tool.NoMatch, "Failed to find expected lines in %s:\n%s", name,
				strings.Join(want, "\n")).
				Suggest("Read the file again: the lines have to follow each other in it, behind the chunk before.")
		}
		edits = append(edits, edit{at, with})
		from = at + len(old(with))
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	return edits, nil
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
	last := len(all) - len(lines)
	if atEnd {
		from = max(from, last)
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
