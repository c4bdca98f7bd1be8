package policy

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// unwrap adds what the command runs, and reports whether the command itself adds nothing to that.
func (l *line) unwrap(words []word, depth int) (transparent bool) {
	name, args := program(words[0]), words[1:]
	switch name {
	case "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish":
		l.unwrapShell(name, args, depth)
	case "command":
		if len(args) > 0 && !args[0].open && isCluster(args[0].text) && strings.ContainsAny(args[0].text, "vV") {
			return false // it only looks up the program
		}
		return l.unwrapPlain(name, wrapper{flags: "p"}, args, depth) && words[0].text == name
	case "eval":
		l.parseWords(withoutDashes(args), depth)
	case "watch":
		l.unwrapWatch(args, depth)
	case "trap":
		if args = withoutDashes(args); len(args) > 1 {
			l.parseWords(args[:1], depth)
		}
	case "alias":
		for _, arg := range args {
			if name, value, ok := strings.Cut(arg.text, "="); ok {
				l.aliases = append(l.aliases, name)
				l.parseWords([]word{{text: value, dynamic: arg.dynamic}}, depth)
			}
		}
	case ".", "source":
		l.unwrapSource(name, args, depth)
	case "git":
		l.unwrapGit(args, depth)
	case "ssh":
		l.unwrapSSH(args, depth)
	case "find":
		l.unwrapFind(args, depth)
	case "su", "script", "flock":
		l.unwrapDashC(name, args, depth)
	default:
		w, ok := wrapperOf(name)
		// Another file of the same name is another program.
		return ok && l.unwrapPlain(name, w, args, depth) && w.transparent && words[0].text == name
	}
	return false
}

// unwrapPlain skips a wrapper's own arguments. It reports whether a command follows and the wrapper set nothing.
func (l *line) unwrapPlain(name string, w wrapper, args []word, depth int) bool {
	if name == "env" {
		if at := slices.IndexFunc(args, isSplitString); at >= 0 {
			l.cannotRead("env splits a string into the command")
			return false
		}
	}
	rest, ok := w.skip(args)
	if !ok {
		l.cannotRead("an option of %s is not known, or known to the shell only", name)
	}
	if name == "xargs" {
		rest = l.filledIn(w, args[:len(args)-len(rest)], rest)
	}
	assigned := false
	for w.assignments && len(rest) > 0 && isAssignment(rest[0].text) {
		if variable, _, _ := strings.Cut(rest[0].text, "="); rest[0].fixed < len(variable) && rest[0].dynamic ||
			!plainName(variable) {
			l.cannotRead("%s sets %s", name, variable)
		}
		l.assignedWord(rest[0], depth)
		rest, assigned, l.assigns = rest[1:], true, true
	}
	if len(rest) <= w.operands {
		return false
	}
	rest = rest[w.operands:]
	if w.appends {
		rest = append(slices.Clone(rest), word{text: "...", dynamic: true})
	}
	if name == "command" || name == "builtin" {
		l.call(rest, depth)
	} else {
		l.add(rest, depth)
	}
	return !assigned
}

// filledIn marks the words in which xargs inserts its input.
func (l *line) filledIn(w wrapper, options, words []word) []word {
	words = slices.Clone(words)
	for i, option := range options {
		mark, found := replaceMark(w, option.text)
		if found && mark == "" && i+1 < len(options) { // -I MARK
			option, mark = options[i+1], options[i+1].text
		}
		if !found {
			continue
		}
		if option.dynamic || mark == "" {
			l.cannotRead("only the shell knows where xargs puts what it reads")
		}
		for j, word := range words {
			if strings.Contains(word.text, mark) {
				words[j].dynamic, words[j].open, words[j].split = true, true, false
				words[j].fixed = min(word.fixed, strings.Index(word.text, mark))
			}
		}
	}
	return words
}

// replaceMark returns the mark for xargs's input if option sets one; an empty mark is the next word.
func replaceMark(w wrapper, option string) (mark string, found bool) {
	if mark, found = strings.CutPrefix(option, "--replace="); found || option == "--replace" {
		return orBraces(mark), true
	}
	if strings.HasPrefix(option, "--") || !strings.HasPrefix(option, "-") {
		return "", false
	}
	for i, c := range option[1:] {
		switch rest := option[i+2:]; {
		case c == 'I' || c == 'J':
			return rest, true
		case c == 'i':
			return orBraces(rest), true
		case strings.ContainsRune(w.valued+w.attached, c):
			return "", false
		}
	}
	return "", false
}

func orBraces(mark string) string {
	if mark == "" {
		return "{}"
	}
	return mark
}

// withoutDashes removes the "--" that ends options.
func withoutDashes(args []word) []word {
	if len(args) > 0 && args[0].text == "--" {
		return args[1:]
	}
	return args
}

func isSplitString(w word) bool {
	return strings.HasPrefix(w.text, "--split-string") || isCluster(w.text) && strings.Contains(w.text, "S")
}

func isAssignment(s string) bool {
	name, _, found := strings.Cut(s, "=")
	return found && name != "" && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "/.")
}

// unwrapShell parses `sh -c LINE`. A shell without a line or a script reads commands from its input.
func (l *line) unwrapShell(name string, args []word, depth int) {
	hasLine := false
	rest, ok := shellOptions.skip(args)
	if !ok {
		l.cannotRead("an option of %s is not known, or known to the shell only", name)
	}
	if name == "zsh" || name == "fish" {
		l.cannotRead("%s has a grammar of its own", name)
	}
	for _, arg := range args[:len(args)-len(rest)] {
		if arg.text == "--version" || arg.text == "--help" {
			return
		}
		cluster := strings.Replace(arg.text, "+", "-", 1) // +c is -c
		hasLine = hasLine || arg.text == "--command" || isCluster(cluster) && strings.Contains(cluster, "c")
	}
	switch {
	case len(rest) == 0 && l.input.text != nil:
		l.parseWords([]word{*l.input.text}, depth)
	case len(rest) == 0:
		l.cannotRead("%s reads its commands from its input", name)
	case hasLine:
		l.parseWords(rest[:1], depth)
	}
}

// standardInput matches the names by which a command opens its own input.
var standardInput = regexlimit.Lazy(`^/(dev/(stdin|fd/)|proc/)`)

// unwrapSource records that a file may change what the following words mean. Its content is unknown, as with
// a script, unless the line itself holds it.
func (l *line) unwrapSource(name string, args []word, depth int) {
	l.assigns = true
	switch args = withoutDashes(args); {
	case len(args) == 0:
	case args[0].open && (l.input.text != nil || l.input.piped):
		l.cannotRead("which file %s reads is known to the shell only", name)
	case !standardInput().MatchString(args[0].text):
	case l.input.text != nil:
		l.parseWords([]word{*l.input.text}, depth)
	default:
		l.cannotRead("%s reads its commands from its input", name)
	}
}

func (l *line) parseWords(words []word, depth int) {
	texts := make([]string, len(words))
	for i, w := range words {
		if w.dynamic {
			l.cannotRead("a line is made of %q, which is known to the shell only", w.text)
		}
		texts[i] = w.text
	}
	l.parse(strings.Join(texts, " "), depth)
}

func (l *line) unwrapWatch(args []word, depth int) {
	watch := wrapper{flags: "bcCdegprtwx", valued: "nq", long: "--interval --equexit",
		longFlags: "--differences --no-title --beep --errexit --exec --color --precise --no-wrap --chgexit"}
	rest, ok := watch.skip(args)
	if !ok {
		l.cannotRead("an option of watch is not known, or known to the shell only")
	}
	if len(rest) > 0 {
		l.parseWords(rest, depth)
	}
}

// runsLocally matches options of ssh whose value is a command.
var runsLocally = regexlimit.Lazy(`(?i)(ProxyCommand|LocalCommand|KnownHostsCommand|Match|Include)`)

func (l *line) unwrapSSH(args []word, depth int) {
	ssh := wrapper{flags: "46AaCfGgKkMNnqsTtVvXxYy", valued: "BbcDEeFIiJLlmOopPQRSWw"}
	rest, ok := ssh.skip(args)
	if !ok || slices.ContainsFunc(args, func(w word) bool { return runsLocally().MatchString(w.text) }) {
		l.cannotRead("an option of ssh is not known, or runs a command here")
	}
	if len(rest) > 1 {
		l.parseWords(rest[1:], depth)
	}
}

// unwrapDashC parses programs that take a line after -c anywhere, and flock, which also takes a plain
// command.
func (l *line) unwrapDashC(name string, args []word, depth int) {
	for i, arg := range args {
		dashC := arg.text == "--command" || isCluster(arg.text) && strings.HasSuffix(arg.text, "c")
		if dashC && i+1 < len(args) {
			l.parseWords(args[i+1:i+2], depth)
			return
		}
		if line, ok := strings.CutPrefix(arg.text, "--command="); ok {
			l.parseWords([]word{{text: line, dynamic: arg.dynamic}}, depth)
			return
		}
	}
	if name == "flock" {
		l.unwrapPlain(name, wrapper{
			flags: "sxneoFuv", valued: "wE", operands: 1, long: "--timeout --conflict-exit-code --wait",
			longFlags: "--shared --exclusive --unlock --nonblock --nb --close --no-fork --verbose",
		}, args, depth)
	}
}

// unwrapFind parses the commands of -exec and similar options.
func (l *line) unwrapFind(args []word, depth int) {
	for i, w := range args {
		followed := i+1 < len(args) && (args[i+1].dynamic || !strings.HasPrefix(args[i+1].text, "-"))
		value := i > 0 && strings.HasPrefix(args[i-1].text, "-") && !args[i-1].dynamic
		if w.open && strings.HasPrefix(w.text, "-") ||
			w.mayBeOption() && !value && (w.split && !isGlob(w) || followed) {
			l.cannotRead("an argument of find is known to the shell only")
		}
	}
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		end := i + 1
		for end < len(args) && args[end].text != ";" && args[end].text != "+" {
			end++
		}
		if end > i+1 {
			l.add(withFileNames(args[i+1:end]), depth)
		}
		i = end
	}
}

// withFileNames marks the words that find fills in.
func withFileNames(words []word) []word {
	words = slices.Clone(words)
	for i := range words {
		words[i].dynamic = words[i].dynamic || strings.Contains(words[i].text, "{}")
	}
	return words
}
