package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/host/tool"
)

// pattern is a rule's command: its program and further words.
type pattern struct {
	words []string
	// rest allows any further words: the pattern ends in "*".
	rest bool
}

// compilePattern parses a pattern, split into words like a shell line.
func compilePattern(s string) (*pattern, error) {
	var words []string
	for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(s)) {
		if err != nil {
			return nil, err
		}
		word := wordOf(w)
		if word.dynamic && !strings.Contains(word.text, "*") {
			return nil, errors.New("a pattern holds plain words and \"*\" only")
		}
		words = append(words, word.text)
	}
	p := &pattern{words: words}
	if n := len(words); n > 1 && words[n-1] == "*" {
		p.words, p.rest = words[:n-1], true
	}
	if len(p.words) == 0 {
		return nil, errors.New("it is empty")
	}
	return p, nil
}

// find returns a command of the line that matches loosely. certain is false if that depends on the shell's
// expansions.
func (p *pattern) find(l *line) (found *command, certain bool) {
	if l == nil {
		return nil, false
	}
	for i := range l.commands {
		matched, sure := p.matchLoosely(l.commands[i])
		if matched && sure {
			return &l.commands[i], true
		}
		if matched && found == nil {
			found = &l.commands[i]
		}
	}
	return found, false
}

// matchStrictly compares word by word. The program must be written as in the pattern: another file of the same name
// is another program.
func (p *pattern) matchStrictly(c command) bool {
	if len(c.words) < len(p.words) || len(c.words) > len(p.words) && !p.rest {
		return false
	}
	for i, want := range p.words {
		if c.words[i].dynamic || !wildcard(want, c.words[i].text) {
			return false
		}
	}
	return true
}

// matchLoosely finds the program under any path and the pattern's further words anywhere among the arguments:
// options in any order, joined or not, short or long, the others in order; also in the code of an interpreter. It
// is not certain if a dynamic word might be the missing one.
func (p *pattern) matchLoosely(c command) (matched, certain bool) {
	if matched, certain = p.matchWords(c); matched && certain {
		return true, true
	}
	if found, sure := p.mentioned(c); found {
		return true, sure
	}
	return matched, certain
}

func (p *pattern) matchWords(c command) (matched, certain bool) {
	if !sameProgram(p.words[0], c.words[0].text) {
		return false, false
	}
	args := c.words[1:]
	options := spellingOf(p.words)
	var operands []string
	missing := false
	for _, want := range p.words[1:] {
		if strings.HasPrefix(want, "-") {
			missing = missing || !options.has(args, want)
		} else {
			operands = append(operands, want)
		}
	}
	missing = missing || !inOrder(args, operands)
	if !missing {
		return true, true
	}
	return slices.ContainsFunc(args, func(w word) bool { return w.dynamic }), false
}

func sameProgram(want, have string) bool {
	base := strings.ToLower(path.Base(strings.ReplaceAll(have, `\`, "/")))
	return wildcard(strings.ToLower(want), strings.TrimSuffix(base, ".exe")) || want == have
}

// hasOption finds an option among args: "-rf" as any single-letter options that include both letters, "--force"
// also as "--force=x".
func hasOption(args []word, want string) bool {
	cluster := isCluster(want)
	letters := strings.TrimPrefix(want, "-")
	for _, arg := range args {
		name, _, _ := strings.Cut(arg.text, "=")
		if wildcard(want, arg.text) || want == name {
			return true
		}
		if cluster && isCluster(arg.text) {
			letters = strings.Map(func(c rune) rune {
				if strings.ContainsRune(arg.text, c) {
					return -1
				}
				return c
			}, letters)
		}
	}
	return cluster && letters == ""
}

func isCluster(s string) bool {
	return len(s) > 1 && s[0] == '-' && s[1] != '-' && !strings.Contains(s, "*")
}

func inOrder(args []word, wants []string) bool {
	for _, arg := range args {
		if len(wants) == 0 {
			break
		}
		if wildcard(wants[0], arg.text) {
			wants = wants[1:]
		}
	}
	return len(wants) == 0
}

// Wildcard reports whether a tool's name matches; "*" matches any characters.
func Wildcard(pattern, name string) bool { return wildcard(pattern, name) }

// wildcard reports whether s matches pattern, in which "*" matches any characters.
func wildcard(pattern, s string) bool {
	first, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == s
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}

// CanonicalJSON returns parameters in the form that rules match: no blanks, object keys sorted, characters
// unescaped wherever JSON allows it, numbers as written. Invalid JSON is unchanged; no parameters are "{}".
func CanonicalJSON(params json.RawMessage) string {
	if len(bytes.TrimSpace(params)) == 0 {
		return "{}"
	}
	dec := json.NewDecoder(bytes.NewReader(params))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || dec.More() {
		return strings.TrimSpace(string(params))
	}
	return string(tool.MustMarshal(value))
}
