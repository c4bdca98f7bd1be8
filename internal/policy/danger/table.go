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

// table is what rules.txt says, in its order.
type table struct {
	lists   map[string][]string
	entries []*entry
}

// entry is about some programs.
type entry struct {
	// kind is the word that begins it: program, tool, interpreter or runner.
	kind     string
	programs []string
	settings settings
	rules    []*rule
}

// rule is one verdict on the commands of some programs, and when it is given.
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
			last.rules = append(last.rules, &rule{class: classNamed(key), reason: rest, settings: into})
		case "line", "like", "operands", "+", "-":
			into[key] = append(into[key], rest)
		default:
			into[key] = append(into[key], words...)
		}
	}
	return t
}

func classNamed(name string) Class {
	return Class(slices.Index([]string{"fine", "caution", "blocked"}, name))
}

// about gives the entries of a kind for a program, in their order.
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

// matches reports whether a text matches an expression of the table.
func matches(expression, text string) bool { return compiled(expression).MatchString(text) }

func compiled(expression string) *regexp.Regexp {
	if known, ok := expressions.Load(expression); ok {
		return known.(*regexp.Regexp)
	}
	made := regexp.MustCompile(expression)
	expressions.Store(expression, made)
	return made
}
