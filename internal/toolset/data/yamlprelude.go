package data

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// unknownDirective is a reserved directive: it is skipped, with a note.
type unknownDirective struct {
	name string
	line int
}

var (
	versionDirective = regexlimit.Lazy(`^%YAML[ \t]+[0-9]+\.[0-9]+[ \t]*([ \t]#.*)?\r?$`)
	yaml1            = regexlimit.Lazy(`^%YAML[ \t]+1\.`)
)

// readPrelude reads the directives before each document, and comments out those that the library
// refuses: versions 1.x other than 1.1, and reserved names. A directive without a document, and a
// malformed or repeated version, are errors.
func readPrelude(text []byte) ([]byte, []unknownDirective, error) {
	if text = bytes.Clone(text); !bytes.HasPrefix(text, []byte("%")) && !bytes.Contains(text, []byte("\n%")) {
		return text, nil, nil
	}
	var unknown []unknownDirective
	p := prelude{open: true}
	for at, number := 0, 1; at < len(text); number++ {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		name, err := p.line(strings.TrimSuffix(string(text[at:end]), "\n"), number)
		if err != nil {
			return nil, nil, err
		}
		if name != "" && name != "TAG" {
			text[at] = '#'
		}
		if name != "" && name != "TAG" && name != "YAML" {
			unknown = append(unknown, unknownDirective{name, number})
		}
		at = end
	}
	return text, unknown, p.close()
}

// prelude tracks where directives may stand while it reads lines.
type prelude struct {
	// open is set before a document's content.
	open bool
	// directive and version are the lines of the last directive and of the version, 0 if none.
	directive, version int
}

// line returns the name of a line's directive, "" if none or if the library will refuse it.
func (p *prelude) line(line string, number int) (string, error) {
	switch {
	case isMarker(line, "..."):
		err := p.close()
		*p = prelude{open: true}
		return "", err
	case !p.open:
		return "", nil
	case strings.HasPrefix(line, "%"):
		return p.readDirective(line, number)
	case isMarker(line, "---"):
		*p = prelude{}
		return "", nil
	case strings.TrimLeft(line, " \t\r") == "" || strings.HasPrefix(strings.TrimLeft(line, " \t"), "#"):
		return "", nil
	}
	p.open = false
	return "", p.close()
}

func (p *prelude) readDirective(line string, number int) (string, error) {
	p.directive = number
	name := strings.FieldsFunc(line[1:]+" ", func(c rune) bool { return c == ' ' || c == '\t' || c == '\r' })
	if len(name) == 0 || name[0] != "YAML" {
		return strings.Join(name[:min(len(name), 1)], ""), nil
	}
	switch {
	case !versionDirective().MatchString(line):
		return "", broken(YAML, Place{number, 1}, "the directive %YAML needs a version and nothing more",
			"Write %YAML 1.2, or remove the line.")
	case p.version != 0:
		return "", broken(YAML, Place{number, 1}, "the directive %YAML is given twice for one document",
			"Remove one of them.")
	}
	p.version = number
	if !yaml1().MatchString(line) {
		return "", nil
	}
	return "YAML", nil
}

// close reports directives without a document.
func (p *prelude) close() error {
	if p.directive == 0 {
		return nil
	}
	return broken(YAML, Place{p.directive, 1}, "no document follows the directive",
		"Begin the document with a line --- below the directives, or remove them.")
}

// isMarker reports whether the line is the marker, alone or before more.
func isMarker(line, marker string) bool {
	rest, ok := strings.CutPrefix(line, marker)
	return ok && (rest == "" || strings.ContainsRune(" \t\r", rune(rest[0])))
}

// maxRenamed limits the renamed anchors and aliases, each of which costs another parse.
const maxRenamed = 64

// renamed returns the text with another name for the anchor or alias of the library's error: it accepts only
// ASCII letters and digits, see github.com/yaml/go-yaml issue 44. It returns false for other errors.
func renamed(text []byte, err error) ([]byte, bool) {
	var fault *yaml.LoadError
	if !errors.As(err, &fault) || !strings.HasPrefix(fault.ContextMsg, "while scanning an a") {
		return nil, false
	}
	s := newSource(text)
	start := s.offset(Place{fault.Mark.Line, fault.Mark.Column})
	for start > 0 && (start == len(text) || text[start] != '&' && text[start] != '*') {
		start--
	}
	end := start + 1
	for end < len(text) && !strings.ContainsRune(" \t\r\n[]{},", rune(text[end])) {
		end++
	}
	if end <= start+1 || text[start] != '&' && text[start] != '*' {
		return nil, false
	}
	name := text[start+1 : end]
	if !bytes.ContainsFunc(name, func(c rune) bool { return c > unicode.MaxASCII }) {
		return nil, false // it is not what the library refuses
	}
	return bytes.Join([][]byte{text[:start], text[end:]}, fmt.Appendf(nil, "%cx%x", text[start], name)), true
}
