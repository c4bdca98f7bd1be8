package patch

import "strings"

// Parse parses a patch: a unified diff of one or more files, with or without git's headers, and with any text
// around. The error is a *ParseError. Without an error the set has at least one file.
func Parse(data []byte) (*Set, error) {
	p := &parser{lines: fileLines(data)}
	if n := len(p.lines); n > 0 && !strings.HasSuffix(p.lines[n-1], "\n") {
		p.lines[n-1] += "\n"
	}
	set, err := p.parse()
	if err == nil && len(set.Files) == 0 && p.unindent() {
		set, err = p.parse()
	}
	if err != nil {
		return nil, err
	}
	if len(set.Files) == 0 {
		return nil, malformed(0, "there is no diff in the patch")
	}
	return set, nil
}

type parser struct {
	lines []string
	// at is the next line's index.
	at    int
	index string
}

// line returns a line from at on, "" after the end.
func (p *parser) line(ahead int) string {
	if p.at+ahead < len(p.lines) {
		return p.lines[p.at+ahead]
	}
	return ""
}

func (p *parser) number() int { return p.at + 1 }

// unindent removes the blanks before the first header from all lines, for a patch that was indented as a whole.
func (p *parser) unindent() bool {
	for _, line := range p.lines {
		bare := strings.TrimLeft(line, " \t")
		if len(bare) < len(line) && (strings.HasPrefix(bare, "--- ") || strings.HasPrefix(bare, "diff --git ")) {
			indent := line[:len(line)-len(bare)]
			for i := range p.lines {
				p.lines[i] = strings.TrimPrefix(p.lines[i], indent)
			}
			p.at, p.index = 0, ""
			return true
		}
	}
	return false
}

func (p *parser) parse() (*Set, error) {
	set := &Set{}
	for p.at < len(p.lines) {
		f, err := p.section()
		if err != nil {
			return nil, err
		}
		if f != nil {
			set.Files = append(set.Files, f)
		}
	}
	return set, nil
}

func (p *parser) section() (*File, error) {
	line := p.line(0)
	switch {
	case strings.HasPrefix(line, "diff --git "):
		return p.gitSection()
	case p.atHeader():
		f := &File{Line: p.number(), Kind: Modify, IndexName: p.index}
		p.index = ""
		return f, p.textSection(f)
	case strings.HasPrefix(line, "Index: "):
		p.index = strings.TrimSpace(line[len("Index: "):])
	case strings.HasPrefix(line, "@@ -"):
		return nil,
			malformed(p.number(), "a hunk stands there without a file: the lines --- and +++ are missing before it")
	case strings.HasPrefix(line, "*** ") && strings.HasPrefix(p.line(1), "--- ") &&
		strings.HasPrefix(p.line(2), "********"):
		return nil, unsupported(p.number(), parseHelp, "this is a context diff")
	case isBinary(line):
		return nil, binary(p.number())
	}
	p.at++
	return nil, nil
}

func isBinary(line string) bool {
	return strings.HasPrefix(line, "GIT binary patch") ||
		strings.HasPrefix(line, "Binary files ") && strings.HasSuffix(strings.TrimRight(line, "\r\n"), " differ")
}

func binary(line int) error {
	return unsupported(line,
		"Only text can be patched. Leave binary files out of the patch and write them in another way.",
		"this is a change of a binary file")
}

func (p *parser) atHeader() bool {
	return strings.HasPrefix(p.line(0), "--- ") && strings.HasPrefix(p.line(1), "+++ ")
}

func (p *parser) textSection(f *File) error {
	if strings.HasSuffix(p.line(0), "\r\n") {
		p.stripCR()
	}
	start := p.number()
	old, oldStamp := headerName(p.line(0)[len("--- "):])
	new, newStamp := headerName(p.line(1)[len("+++ "):])
	p.at += 2
	if err := f.nameBy(old, new, start); err != nil {
		return err
	}
	if err := p.hunks(f); err != nil {
		return err
	}
	if len(f.Hunks) == 0 {
		return malformed(p.number(), "no hunk follows the header of %s", max(f.NewName, f.OldName))
	}
	f.inferKind(oldStamp, newStamp)
	return nil
}

// nameBy sets the names unless a git header did.
func (f *File) nameBy(old, new string, line int) error {
	if f.Kind == Rename || f.Kind == Copy {
		return nil
	}
	f.OldName, f.NewName = old, new
	if old == devNull {
		f.OldName, f.Kind = "", Create
	}
	if new == devNull {
		f.NewName, f.Kind = "", Delete
	}
	if f.OldName == "" && f.NewName == "" && f.IndexName == "" {
		return malformed(line, "the header names no file")
	}
	return nil
}

// inferKind recognizes a created or deleted file by its time stamps, as diff -N writes them.
func (f *File) inferKind(oldStamp, newStamp string) {
	if f.Kind != Modify || len(f.Hunks) != 1 {
		return
	}
	h := f.Hunks[0]
	switch {
	case isEpoch(oldStamp) && len(h.pick('-')) == 0:
		f.Kind = Create
	case isEpoch(newStamp) && len(h.pick('+')) == 0:
		f.Kind = Delete
	}
}

// stripCR removes carriage returns that were added to the patch in transit: its header has them too.
func (p *parser) stripCR() {
	for i := p.at; i < len(p.lines); i++ {
		if line, ok := strings.CutSuffix(p.lines[i], "\r\n"); ok {
			p.lines[i] = line + "\n"
		}
	}
}

func (p *parser) hunks(f *File) error {
	for {
		blanks := 0
		for len(f.Hunks) > 0 && strings.TrimRight(p.line(blanks), "\r\n") == "" && p.line(blanks) != "" {
			blanks++
		}
		if !strings.HasPrefix(p.line(blanks), "@@") {
			return nil
		}
		p.at += blanks
		h, err := p.hunk()
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
}
