package danger

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed rules.txt
var source string

type table struct {
	lists   map[string][]string
	entries []*entry
}

type entry struct {
	// kind is the first word: program, tool, interpreter or runner.
	kind     string
	programs []string
	settings settings
	rules    []*rule
}

// rule is a verdict on commands of some programs, with its conditions.
type rule struct {
	class    Class
	reason   string
	settings settings
}

// settings are the lines below an entry or a rule, by their first word.
type settings map[string][]string

var rules = sync.OnceValue(func() table { return parse(source) })

func parse(source string) table {
	t := table{lists: make(map[string][]string)}
	last, into := new(entry), settings{}
	for line := range strings.Lines(source) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.Fields(rest)
		switch key {
		case "", "#":
		case "list":
			t.lists[words[0]] = append(t.lists[words[0]], words[1:]...)
		case "program", "tool", "interpreter", "runner":
			if last.kind != key || len(last.rules)+len(into) > 0 {
				into = settings{}
				last = &entry{kind: key, settings: into}
				t.entries = append(t.entries, last)
			}
			last.programs = append(last.programs, words...)
		case "fine", "caution", "blocked":
			into = settings{}
			class := Class(slices.Index([]string{"fine", "caution", "blocked"}, key))
			last.rules = append(last.rules, &rule{class: class, reason: rest, settings: into})
		case "line", "like", "operands", "+", "-":
			into[key] = append(into[key], rest)
		default:
			into[key] = append(into[key], words...)
		}
	}
	return t
}

// about returns the entries of a kind for a program, in order.
func (t table) about(program string, kinds ...string) (found []*entry) {
	for _, e := range t.entries {
		if slices.Contains(kinds, e.kind) && slices.ContainsFunc(e.programs, func(name string) bool {
			prefix, open := strings.CutSuffix(name, "*")
			return name == program || open && strings.HasPrefix(program, prefix)
		}) {
			found = append(found, e)
		}
	}
	return found
}

// has reports whether there is a line with this first word.
func (s settings) has(key string) bool {
	_, ok := s[key]
	return ok
}

var expressions sync.Map

func matches(expression, text string) bool { return compiled(expression).MatchString(text) }

func compiled(expression string) *regexp.Regexp {
	if known, ok := expressions.Load(expression); ok {
		return known.(*regexp.Regexp)
	}
	made := regexp.MustCompile(expression)
	expressions.Store(expression, made)
	return made
}
