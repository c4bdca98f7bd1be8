package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// builtinUnderstood reports whether a shell builtin does no more than its words say. It is true for other programs,
// and false for unlisted bash builtins.
func builtinUnderstood(words []word) bool {
	name, args := words[0].text, words[1:]
	switch name {
	case ":", "true", "false", "echo", "pwd", "cd", "pushd", "popd", "dirs", "exit", "return", "break", "continue",
		"shift", "umask", "times", "type", "kill", "fg", "bg", "disown", "logout", "suspend", "caller", "help",
		"ulimit", "unalias":
		return true
	case ".", "source", "builtin", "command", "eval", "exec", "trap":
		return true // unwrap reads their commands
	case "[", "test":
		return testUnderstood(args)
	case "printf":
		return printfUnderstood(args)
	case "export", "readonly", "local", "declare", "typeset":
		return !slices.ContainsFunc(args, func(w word) bool { return !declares(w) })
	case "read", "unset", "mapfile", "readarray", "getopts":
		return namesUnderstood(name, args)
	case "set":
		return setUnderstood(args)
	case "shopt":
		return !slices.ContainsFunc(args, func(w word) bool { return w.open || !harmlessSwitch().MatchString(w.text) })
	case "alias":
		return !slices.ContainsFunc(args, func(w word) bool { return w.open || !aliasable(w.text) })
	case "history":
		return !slices.ContainsFunc(args,
			func(w word) bool { return w.open || strings.Trim(w.text, "0123456789") != "" })
	case "wait", "jobs":
		return !slices.ContainsFunc(args, func(w word) bool {
			return w.mayBeOption() || isCluster(w.text) && strings.ContainsAny(w.text, "px")
		})
	case "hash":
		return !slices.ContainsFunc(args, func(w word) bool { return w.open || isCluster(w.text) && w.text != "-r" })
	case "bind", "compgen", "complete", "compopt", "coproc", "enable", "fc", "let":
		return false
	}
	return true
}

// harmlessSwitch are the options of shopt that do not change parsing.
var harmlessSwitch = regexlimit.Lazy(`^(-[su]|nullglob|globstar|dotglob|nocaseglob|failglob|nocasematch|lastpipe|inherit_errexit)$`)

// aliasable reports whether a definition redefines no word of the shell's grammar.
func aliasable(definition string) bool {
	name, _, _ := strings.Cut(definition, "=")
	return identifier().MatchString(name) && !syntax.IsKeyword(name)
}

// declares reports whether an argument of export and similar commands sets a plain variable, or is an option
// after which a value is only a value.
func declares(w word) bool {
	name, _, found := strings.Cut(w.text, "=")
	if found && len(name) < w.fixed || !w.dynamic {
		return plainName(strings.TrimSuffix(name, "+")) || flagsOfDeclarations().MatchString(w.text) || w.text == "--"
	}
	return false
}

// testUnderstood refuses operators that evaluate their operand, also as the result of an expansion: -v takes a
// name, and a name is evaluated.
func testUnderstood(args []word) bool {
	for i, w := range args {
		operand := i > 0 && !args[i-1].dynamic && strings.HasPrefix(args[i-1].text, "-")
		switch {
		case w.text == "-v", w.text == "-R":
			return false
		case w.open && w.split:
			return false
		case w.mayBeOption() && !operand && i+1 < len(args) && args[i+1].open:
			return false
		}
	}
	return true
}

// printfUnderstood refuses -v, whose operand is evaluated.
func printfUnderstood(args []word) bool {
	return len(args) == 0 || !args[0].mayBeOption() && (!strings.HasPrefix(args[0].text, "-") || args[0].text == "--")
}

// optionsOf are the options of commands that set variables: letters without and with a value.
var optionsOf = map[string]struct{ flags, valued string }{
	"read":      {"ers", "dinNptu"},
	"unset":     {"fv", ""},
	"mapfile":   {"t", "dnOsu"},
	"readarray": {"t", "dnOsu"},
}

// namesUnderstood refuses all but plain variables. A subscript in a name is evaluated.
func namesUnderstood(name string, args []word) bool {
	known := optionsOf[name]
	w := wrapper{flags: known.flags, valued: known.valued}
	rest, ok := w.skip(args)
	if name == "getopts" {
		if len(args) < 2 || args[0].open || args[1].open {
			return false
		}
		rest = args[1:2]
	}
	return ok && !slices.ContainsFunc(rest, func(w word) bool { return w.dynamic || !plainName(w.text) })
}

func setUnderstood(args []word) bool {
	for i, w := range args {
		switch {
		case w.text == "--" || w.text == "-":
			return true
		case w.mayBeOption():
			return false
		case !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+"):
			if i == 0 || !strings.HasSuffix(args[i-1].text, "o") {
				return true
			}
			if !harmlessOption().MatchString(w.text) {
				return false
			}
		case strings.Trim(w.text[1:], "abefmuvxChno") != "":
			return false
		}
	}
	return true
}

// harmlessOption are the options of set -o that do not change parsing.
var harmlessOption = regexlimit.Lazy(`^(allexport|errexit|errtrace|functrace|noclobber|noexec|noglob|notify|` +
	`nounset|pipefail|verbose|xtrace|monitor)$`)
