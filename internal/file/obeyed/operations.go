package obeyed

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// operations are the files of a rebase, cherry-pick or am in progress, by the last names of their path, with their
// allowed content: the user's git takes programs and options from them when it continues. A strategy is a program
// unless it is git's default; other strategies and git apply have options that write files.
var operations = []struct {
	dir, file string // the last names; dir is a glob
	check     Check
}{
	{"rebase-merge", "git-rebase-todo", Check{Accepts: holding(Harmless)}},
	{"rebase-*", "strategy", Check{InPlace: true, Accepts: holding(allOf(`ort|recursive`))}},
	{"rebase-*", "strategy_opts", Check{InPlace: true, Accepts: holding(allOf(`--[a-z-]+|"[a-z-]+"`))}},
	{"rebase-*", "gpg_sign_opt", Check{InPlace: true, Accepts: holding(func(string) bool { return false })}},
	{"rebase-apply", "apply-opt", Check{InPlace: true, Fixed: "\n"}}, // no options
	{"sequencer", "opts", Check{Accepts: holding(harmlessOptions)}},
}

// operation returns the allowed content of such a file, nil for others. inside are the names below a repository's
// directory.
func operation(inside []string) *Check {
	if len(inside) < 2 {
		return nil
	}
	dir, file := inside[len(inside)-2], inside[len(inside)-1]
	for _, of := range operations {
		if matches, _ := path.Match(of.dir, dir); matches && of.file == file {
			return &of.check
		}
	}
	return nil
}

func holding(fine func(content string) bool) func(string, bool, string) bool {
	return func(_ string, _ bool, content string) bool { return fine(content) }
}

func allOf(pattern string) func(string) bool {
	word := regexlimit.Lazy(`^(?:` + pattern + `)$`)
	return func(text string) bool {
		return !slices.ContainsFunc(strings.Fields(text), func(s string) bool { return !word().MatchString(s) })
	}
}

var option = regexlimit.Lazy(`^(?:[a-z-]+=(?:true|false|[0-9]+)|strategy=(?:ort|recursive)|` +
	`(?:strategy-option|default-msg-cleanup)=[a-z-]+)$`)

// harmlessOptions reports whether options of a cherry-pick name no program and no file.
func harmlessOptions(text string) bool {
	all, ok := settings(text)
	return ok && !slices.ContainsFunc(all, func(s setting) bool {
		return s.section != "options" || s.subsection != "" || !option().MatchString(s.key+"="+s.value)
	})
}

// todoWords are the instructions of a todo list that run no program.
var todoWords = []string{"pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "noop",
	"label", "l", "reset", "t", "merge", "m", "update-ref", "u", "break", "b"}

// Harmless reports whether a todo list runs no program.
func Harmless(todo string) bool {
	for line := range strings.Lines(todo) {
		words := strings.Fields(line)
		if len(words) > 0 && !strings.HasPrefix(words[0], "#") && !slices.Contains(todoWords, words[0]) {
			return false
		}
	}
	return true
}
