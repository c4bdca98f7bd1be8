package patch

import (
	"strconv"
	"strings"
)

// hunk parses one hunk. The counts in its header decide its end if they fit; otherwise the lines do.
func (p *parser) hunk() (*Hunk, error) {
	h := &Hunk{Line: p.number()}
	spans, ok := h.header(p.line(0))
	if !ok {
		return nil, malformed(p.number(), "%q is not a hunk header", strings.TrimRight(p.line(0), "\r\n"))
	}
	p.at++
	start := p.at
	if p.counted(h, spans) {
		return h, nil
	}
	p.at, h.Lines = start, nil
	if err := p.uncounted(h); err != nil {
		return nil, err
	}
	if len(h.Lines) == 0 {
		return nil, malformed(h.Line, "the hunk has no lines")
	}
	return h, nil
}

// header parses "@@ -1,2 +3,4 @@" and returns the two counts.
func (h *Hunk) header(line string) (counts [2]int, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return counts, false
	}
	old, rest, ok := strings.Cut(rest, " +")
	if !ok {
		return counts, false
	}
	new, _, ok := strings.Cut(rest, " @@")
	if !ok {
		return counts, false
	}
	var okOld, okNew bool
	h.OldStart, counts[0], okOld = position(old)
	_, counts[1], okNew = position(new)
	return counts, okOld && okNew
}

func position(s string) (start, count int, ok bool) {
	a, b, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(a)
	count = 1
	if err == nil && two {
		count, err = strconv.Atoi(b)
	}
	return start, count, err == nil && start >= 0 && count >= 0
}

// counted parses as many lines as the header says, and reports whether they belong to a hunk and the next does
// not.
func (p *parser) counted(h *Hunk, left [2]int) bool {
	h.Lines = make([]Line, 0, min(max(left[0], left[1]), len(p.lines)-p.at))
	swallowed := false
	for left[0] > 0 || left[1] > 0 {
		swallowed = swallowed || p.atHeader() && strings.HasPrefix(p.line(2), "@@ -")
		op, text, ok := bodyLine(p.line(0))
		if !ok {
			return false
		}
		if op != '+' {
			left[0]--
		}
		if op != '-' {
			left[1]--
		}
		if left[0] < 0 || left[1] < 0 {
			return false
		}
		p.at++
		p.add(h, op, text)
	}
	return len(h.Lines) > 0 && p.atEnd() && !(swallowed && p.goesBack(h))
}

// goesBack reports whether the next hunk starts before the end of h, so that it cannot belong to the same
// file.
func (p *parser) goesBack(h *Hunk) bool {
	var next Hunk
	_, ok := next.header(p.line(0))
	return ok && next.OldStart < h.OldStart+len(h.pick('-'))
}

// atEnd reports whether a hunk may end here: what follows, even after empty lines, must not look like more of it.
func (p *parser) atEnd() bool {
	save := p.at
	defer func() { p.at = save }()
	for isEmpty(p.line(0)) {
		p.at++
	}
	line := p.line(0)
	switch {
	case line == "" || p.atHeader() || p.atSignature() || isMark(line):
		return true
	case p.at > save && line[0] == '+': // prose, such as +1
		return true
	}
	return !strings.ContainsRune(" +-\t\\", rune(line[0]))
}

func isEmpty(line string) bool { return line == "\n" || line == "\r\n" }

// isMark reports whether a line is the end mark of a mail. After all of a hunk's lines it is not
// another one.
func isMark(line string) bool { return strings.TrimRight(line, "\r\n") == "-- " }

// atSignature reports whether a mail's end mark comes next, followed by the end or a line outside of hunks.
// Mailers remove its blank; then git's version must follow.
func (p *parser) atSignature() bool {
	next := p.line(1)
	if isMark(p.line(0)) {
		return next == "" || isEmpty(next) || !strings.ContainsRune(" +-\t\\@", rune(next[0]))
	}
	return strings.TrimRight(p.line(0), "\r\n") == "--" && next != "" && next[0] >= '0' && next[0] <= '9'
}

// bodyLine parses a line of a hunk. Editors and mailers remove trailing blanks, so some forms have none.
func bodyLine(line string) (op byte, text string, ok bool) {
	switch {
	case line == "":
		return 0, "", false
	case line[0] == ' ' || line[0] == '-' || line[0] == '+':
		return line[0], line[1:], true
	case line[0] == '\t', isEmpty(line):
		return ' ', line, true
	}
	return 0, "", false
}

// add appends a line, without its ending if the mark for that follows.
func (p *parser) add(h *Hunk, op byte, text string) {
	if strings.HasPrefix(p.line(0), `\`) {
		p.at++
		text = strings.TrimSuffix(text, "\n")
	}
	h.Lines = append(h.Lines, Line{op, text})
}

// uncounted parses a hunk whose header has wrong counts: up to the next header, or text outside hunks. Trailing
// empty lines are not part of it.
func (p *parser) uncounted(h *Hunk) error {
	blanks := 0
	for !p.stops() {
		line := p.line(0)
		op, text, ok := bodyLine(line)
		if !ok {
			return malformed(p.number(), "%q is not a line of a hunk: it must begin with a space, - or +",
				strings.TrimRight(line, "\r\n"))
		}
		p.at++
		p.add(h, op, text)
		if isEmpty(line) {
			blanks++
		} else {
			blanks = 0
		}
	}
	h.Lines = h.Lines[:len(h.Lines)-blanks]
	return nil
}

// stops reports whether a line certainly ends a hunk.
func (p *parser) stops() bool {
	line := p.line(0)
	return line == "" || p.atHeader() || p.atSignature() ||
		strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "Index: ") ||
		strings.HasPrefix(line, "```")
}
