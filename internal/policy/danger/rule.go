package danger

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/policy"
)

func (j *judge) judged(c *policy.Command) (Class, string) {
	for _, e := range rules().about(c.Program(), "program", "tool") {
		words := operands(c, e.settings["valued"]...)
		for _, r := range e.rules {
			if !r.settings.fit(c, texts(words)) {
				continue
			}
			if word, ok := j.choose(r.settings, c, words); ok {
				return r.class, strings.ReplaceAll(r.reason, "%s", word)
			}
		}
	}
	return Fine, ""
}

// fit reports whether the command meets a rule's conditions, except those on single words.
func (s settings) fit(c *policy.Command, operands []string) bool {
	return (!s.has("option") || c.Has(s["option"]...)) && !c.Has(s["unless"]...) &&
		begins(operands, s["words"]...) && (!s.has("verbs") || verbs(operands, s["verbs"]...)) &&
		all(s["line"], joined(c.Texts())) && all(s["operands"], joined(operands))
}

func joined(words []string) string {
	lines := make([]string, len(words))
	for i, w := range words {
		lines[i] = strings.ReplaceAll(w, "\n", " ")
	}
	return strings.Join(lines, "\n")
}

func all(expressions []string, text string) bool {
	return !slices.ContainsFunc(expressions, func(e string) bool { return !matches(e, text) })
}

// choose returns the word that a rule is about: one of those of "of", with a text as by "like" and in a place as
// by "at".
func (j *judge) choose(s settings, c *policy.Command, operands []policy.Word) (text string, ok bool) {
	if !s.has("of") {
		return "", true
	}
	for _, which := range s["of"] {
		for _, w := range selected(which, c, operands) {
			if all(s["like"], w.Text) && j.lies(w, s["at"]) {
				return w.Text, true
			}
		}
	}
	return "", false
}

func selected(which string, c *policy.Command, operands []policy.Word) []policy.Word {
	args := c.Words[1:]
	switch which {
	case "args":
		return args
	case "operands":
		return operands
	case "first":
		return args[:min(1, len(args))]
	case "operand":
		return operands[:min(1, len(operands))]
	case "last":
		return operands[max(0, len(operands)-1):]
	case "leading":
		end := slices.IndexFunc(args, func(w policy.Word) bool {
			return strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!"
		})
		if end < 0 {
			return args
		}
		return args[:end]
	case "input":
		if c.Input != nil {
			return []policy.Word{*c.Input}
		}
		return nil
	}
	return values(which, args)
}

// values returns the values of an option: what follows "NAME=" in its word, or the word after NAME.
func values(option string, args []policy.Word) (found []policy.Word) {
	for i, w := range args {
		rest, ok := strings.CutPrefix(w.Text, option)
		switch {
		case ok && strings.HasSuffix(option, "="):
			found = append(found, policy.Word{Text: rest, Dynamic: w.Dynamic})
		case w.Text == option && i+1 < len(args):
			found = append(found, args[i+1])
		}
	}
	return found
}

// lies reports whether a word names a place of all the kinds, each of which may be alternatives separated by "|",
// or negated by "!".
func (j *judge) lies(w policy.Word, kinds []string) bool {
	if len(kinds) == 0 {
		return true
	}
	p := j.namedPath(w)
	return !slices.ContainsFunc(kinds, func(kind string) bool {
		name, denied := strings.CutPrefix(kind, "!")
		return denied == slices.ContainsFunc(strings.Split(name, "|"), p.is)
	})
}

// operands returns a command's arguments other than options. valued are the options whose value is the next
// word.
func operands(c *policy.Command, valued ...string) []policy.Word {
	var out []policy.Word
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		switch text := words[i].Text; {
		case text == "--":
			return append(out, words[i+1:]...)
		case slices.Contains(valued, text):
			i++
		case !strings.HasPrefix(text, "-") || text == "-":
			out = append(out, words[i])
		}
	}
	return out
}

func texts(words []policy.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

// begins reports whether the operands start with words, each of which may be alternatives separated by "|", or
// "*" for any.
func begins(have []string, words ...string) bool {
	if len(have) < len(words) {
		return false
	}
	for i, w := range words {
		if w != "*" && !slices.Contains(strings.Split(w, "|"), have[i]) {
			return false
		}
	}
	return true
}

// verbs reports whether the operands start with words, perhaps after one or two that can be the values of options.
func verbs(have []string, want ...string) bool {
	for at := range min(len(have), 3) {
		if at == 1 && slices.Contains(rules().lists["looks"], have[0]) {
			break
		}
		if begins(have[at:], want...) {
			return true
		}
	}
	return false
}
