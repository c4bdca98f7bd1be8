package search

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
)

// binaryWarning is what ripgrep says behind the name of a file in which it
// found a match first and a NUL byte later.
const binaryWarning = ": WARNING: stopped searching binary file after match"

// parser reads what ripgrep prints. Each line has the file's name, a NUL, and
// in mode Lines the number, ':' for a match or '-' for context, and the text;
// in the other modes the count.
type parser struct {
	query   Query
	pattern *pattern
	hits    *hits

	name  string    // of the file that the lines are from, as printed
	lines []rawLine // of that file
	part  string    // the beginning of a name with line breaks in it
	kept  kept      // in hits
}

// rawLine is one printed line of a file.
type rawLine struct {
	number int
	match  bool
	text   []byte
}

// parse reads the whole output. It may end anywhere, when ripgrep was stopped.
func parse(output []byte, q Query, what *pattern) *hits {
	p := &parser{query: q, pattern: what, hits: &hits{}}
	output, p.hits.searched = cutStatistics(output)
	for len(output) > 0 {
		line, rest, whole := bytes.Cut(output, []byte{'\n'})
		if !whole {
			break
		}
		p.line(line)
		output = rest
	}
	p.endFile()
	p.hits.searched = max(p.hits.searched, len(p.hits.files))
	return p.hits
}

// cutStatistics takes the statistics from the end of the output, and gives
// the number of files searched.
func cutStatistics(output []byte) (rest []byte, searched int) {
	end := bytes.LastIndex(output, []byte(" files searched\n"))
	if end < 0 {
		return output, 0
	}
	start := bytes.LastIndexByte(output[:end], '\n') + 1
	searched, err := strconv.Atoi(string(output[start:end]))
	if err != nil {
		return output, 0
	}
	for range 4 { // three lines of counts above, and an empty one
		if start = bytes.LastIndexByte(output[:max(start-1, 0)], '\n') + 1; start == 0 {
			break
		}
	}
	return output[:start], searched
}

func (p *parser) line(line []byte) {
	name, rest, ok := bytes.Cut(line, []byte{0})
	if !ok {
		p.nameless(string(line))
		return
	}
	if p.part != "" || string(name) != p.name {
		p.startFile(p.part + string(name))
	}
	if p.query.Mode != Lines {
		p.count(rest)
		return
	}
	digits := bytes.IndexAny(rest, ":-")
	number, err := strconv.Atoi(string(rest[:max(digits, 0)]))
	if err != nil {
		return
	}
	p.lines = append(p.lines, rawLine{number, rest[digits] == ':', rest[digits+1:]})
}

// startFile begins with the lines of a file, unless they go on.
func (p *parser) startFile(name string) {
	p.part = ""
	if name != p.name {
		p.endFile()
		p.name = name
	}
}

// nameless is a line without a NUL: a warning, or a part of a name.
func (p *parser) nameless(line string) {
	if p.name != "" && strings.HasPrefix(p.part+line, p.name+binaryWarning) {
		p.name, p.lines, p.part = "", nil, ""
		return
	}
	p.part += line + "\n"
}

func (p *parser) count(text []byte) {
	if n, err := strconv.Atoi(string(trimCR(text))); err == nil && n > 0 {
		p.hits.files = append(p.hits.files, fileHits{path: shownPath(p.name), count: n})
	}
}

// endFile turns the lines of one file into its matches.
func (p *parser) endFile() {
	if len(p.lines) == 0 {
		return
	}
	f := fileHits{path: shownPath(p.name)}
	for i, line := range p.lines {
		if !line.match {
			continue
		}
		f.count++
		if f.wants(p.query) {
			f.add(p.match(f.path, i))
		}
	}
	p.name, p.lines = "", p.lines[:0]
	if f.count == 0 {
		return // cut off before the match
	}
	p.hits.files = append(p.hits.files, f)
	if p.kept.add(&f); p.kept.many(p.query, 4) {
		p.hits.sort()
		p.kept.prune(p.hits.files, p.query)
	}
}

// match makes the result for the i-th line, from the lines printed around it.
func (p *parser) match(path string, i int) Match {
	line := p.lines[i]
	m := Match{Path: path, Line: line.number, Text: p.query.shownMatch(line.text, p.pattern)}
	first := i
	for first > 0 && i-first < p.query.Before && p.lines[first-1].number == p.lines[first].number-1 {
		first--
	}
	for _, before := range p.lines[first:i] {
		m.Before = append(m.Before, p.query.shown(before.text))
	}
	for j := i + 1; j < len(p.lines) && j-i <= p.query.After && p.lines[j].number == p.lines[j-1].number+1; j++ {
		m.After = append(m.After, p.query.shown(p.lines[j].text))
	}
	return m
}

// shownPath is a printed name as results have it.
func shownPath(name string) string {
	return strings.TrimPrefix(filepath.ToSlash(name), "./")
}
