package danger

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/policy"
)

// runs judges what a program runs that is not a plain wrapper.
func (j *judge) runs(c *policy.Command, depth int) {
	for _, e := range rules().about(c.Program(), "runner") {
		switch s := e.settings; {
		case s.has("line"):
			j.runsLines(s, c)
		case s.has("after"):
			for i, w := range c.Words[1:] {
				if slices.Contains(s["after"], w.Text) {
					j.inner(c.Words[i+2:], maxScripts)
				}
			}
		case s.has("inside"): // VERB WHERE PROGRAM ...
			if words := operands(c, s["valued"]...); len(words) > 2 && slices.Contains(s["inside"], words[0].Text) {
				j.inner(words[2:], maxScripts)
			}
		case depth < maxScripts:
			words := s.program(c)
			if len(words) == 1 || s.has("joined") {
				j.line(strings.Join(texts(words), " "), depth+1)
				continue
			}
			j.inner(words, depth+1)
		}
	}
}

func (j *judge) runsLines(s settings, c *policy.Command) {
	if s.has("verbs") && len(s.program(c)) == 0 {
		return
	}
	for _, text := range c.Texts() {
		if found := compiled(s["line"][0]).FindStringSubmatch(text); found != nil {
			j.line(found[1], maxScripts)
		}
	}
}

func (j *judge) inner(words []policy.Word, depth int) {
	if len(words) > 0 {
		j.command(&policy.Command{Words: words}, depth)
	}
}

func (s settings) program(c *policy.Command) []policy.Word {
	words := afterOptions(c.Words[1:], s["valued"])
	if !s.has("verbs") {
		return words
	}
	if len(words) == 0 || !slices.Contains(s["verbs"], words[0].Text) {
		return nil
	}
	return afterOptions(words[1:], s["valued"])
}

func afterOptions(words []policy.Word, valued []string) []policy.Word {
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case text == "--":
			return words[1:]
		case !strings.HasPrefix(text, "-"):
			return words
		case slices.Contains(valued, text) && len(words) > 1:
			words = words[1:]
		}
		words = words[1:]
	}
	return words
}

// code judges the code that a command passes to an interpreter, as arguments or input.
func (j *judge) code(c *policy.Command, about string) {
	for _, e := range rules().about(c.Program(), "interpreter") {
		codes, piped := c.Code()
		for _, code := range codes {
			j.judgeCode(e.settings["like"], code, about)
		}
		if piped {
			j.found(Caution, about, "the command cannot be read for certain: %s reads its commands from its input",
				c.Program())
		}
	}
}

func (j *judge) judgeCode(destroy []string, code policy.Word, about string) {
	switch {
	case slices.ContainsFunc(destroy, func(e string) bool { return matches(e, code.Text) }):
		j.found(Caution, about, "runs code that can delete files or run commands")
	case code.Dynamic && (strings.HasPrefix(code.Text, "$") || strings.HasPrefix(code.Text, "`")):
		j.found(Caution, about, "the command cannot be read for certain: the code is known to the shell only")
	}
	if matches(forks, code.Text) {
		j.found(Blocked, about, "fork bomb")
	}
}

const (
	// forks matches code that forks in an endless loop.
	forks = `fork(\(\))?\s+while\s+(fork|1|true)|while\s*\(?\s*(1|True|true)\s*\)?\s*[:{]?\s*(os\.)?fork|` +
		`while\s+(os\.)?fork|\b(loop|forever)\s*\{?\s*fork`
	// function matches definitions of functions: name(){ body } and function name { body }.
	function = `(?:([^\s(){};|&"']+)\s*\(\s*\)|function\s+([^\s(){};|&"']+)(?:\s*\(\s*\))?)\s*[{(]([^}]*)[})]`
)

// isForkBomb reports whether a function starts itself more than once, or in the background.
func isForkBomb(line string) bool {
	for _, match := range compiled(function).FindAllStringSubmatch(line, -1) {
		name, body := match[1]+match[2], match[3]
		count := 0
		for _, word := range strings.FieldsFunc(body,
			func(c rune) bool { return strings.ContainsRune(" \t\n;|&(){}", c) }) {
			if word == name {
				count++
			}
		}
		if count > 1 || count == 1 && strings.Contains(strings.ReplaceAll(body, "&&", ""), "&") {
			return true
		}
	}
	return false
}
