package policy

import (
	"slices"
	"strings"
)

// wrapper is how a program that runs another one writes its arguments.
type wrapper struct {
	// valued are the single-letter options that take a value, long the long
	// ones that take theirs as the next word.
	valued string
	long   []string
	// operands come before the command.
	operands int
	// assignments may come before the command.
	assignments bool
	// transparent wrappers add nothing to what they run.
	transparent bool
	// appends is true when further arguments come from elsewhere.
	appends bool
}

// wrapperOf knows the programs whose arguments are a command.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "env":
		return wrapper{valued: "uCS", long: []string{"--unset", "--chdir", "--split-string"}, assignments: true, transparent: true}, true
	case "nice":
		return wrapper{valued: "n", long: []string{"--adjustment"}, transparent: true}, true
	case "ionice":
		return wrapper{valued: "cnpPu", long: []string{"--class", "--classdata"}, transparent: true}, true
	case "nohup", "setsid":
		return wrapper{transparent: true}, true
	case "stdbuf":
		return wrapper{valued: "ioe", long: []string{"--input", "--output", "--error"}, transparent: true}, true
	case "time":
		return wrapper{valued: "of", long: []string{"--output", "--format"}, transparent: true}, true
	case "timeout":
		return wrapper{valued: "sk", long: []string{"--signal", "--kill-after"}, operands: 1, transparent: true}, true
	case "builtin", "busybox", "toybox", "fakeroot", "pkexec":
		return wrapper{}, true
	case "exec":
		return wrapper{valued: "a"}, true
	case "sudo":
		return wrapper{valued: "ughpCrtTDRU", long: []string{"--user", "--group", "--host", "--prompt", "--chdir", "--chroot", "--role", "--type"}, assignments: true}, true
	case "doas":
		return wrapper{valued: "uC"}, true
	case "chroot":
		return wrapper{operands: 1}, true
	case "taskset", "chrt":
		return wrapper{operands: 1}, true
	case "parallel":
		return wrapper{valued: "jSanILd", appends: true}, true
	case "unshare", "nsenter":
		return wrapper{valued: "tSGrwR", long: []string{"--target", "--setuid", "--setgid", "--root", "--wd"}}, true
	case "strace", "ltrace":
		return wrapper{valued: "abeEIopPsSuUX", long: []string{"--output", "--trace", "--attach"}}, true
	case "xargs":
		return wrapper{valued: "InPLsadE", long: []string{"--replace", "--max-args", "--max-procs", "--max-lines", "--max-chars", "--arg-file", "--delimiter", "--eof"}, appends: true}, true
	}
	return wrapper{}, false
}

// unwrap notes what the command runs in turn, and reports whether the command
// itself adds nothing to that.
func (l *line) unwrap(words []word, depth int) (transparent bool) {
	name, args := program(words[0]), words[1:]
	switch name {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish":
		l.unwrapShell(name, args, depth)
	case "command":
		if len(args) > 0 && isCluster(args[0].text) && strings.ContainsAny(args[0].text, "vV") {
			return false // it only looks the program up
		}
		return l.unwrapPlain(name, wrapper{}, args, depth) && words[0].text == name
	case "eval":
		l.parseWords(args, depth)
	case "watch":
		l.unwrapWatch(args, depth)
	case "trap":
		if len(args) > 1 {
			l.parseWords(args[:1], depth)
		}
	case "alias":
		l.unwrapAlias(args, depth)
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

// unwrapPlain skips a wrapper's own arguments. It reports whether there was a
// command behind them and nothing was set on the way.
func (l *line) unwrapPlain(name string, w wrapper, args []word, depth int) bool {
	if name == "env" {
		if at := slices.IndexFunc(args, isSplitString); at >= 0 {
			l.cannotRead("env splits a string into the command")
			return false
		}
	}
	rest, ok := w.skip(args)
	if !ok {
		l.cannotRead("an argument of %s is known to the shell only", name)
		return false
	}
	assigned := false
	for w.assignments && len(rest) > 0 && isAssignment(rest[0].text) {
		rest, assigned, l.assigns = rest[1:], true, true
	}
	if len(rest) <= w.operands {
		return false
	}
	rest = rest[w.operands:]
	if w.appends {
		rest = append(slices.Clone(rest), word{text: "...", dynamic: true})
	}
	l.add(rest, depth)
	return !assigned
}

func isSplitString(w word) bool {
	return strings.HasPrefix(w.text, "--split-string") || isCluster(w.text) && strings.Contains(w.text, "S")
}

func isAssignment(s string) bool {
	name, _, found := strings.Cut(s, "=")
	return found && name != "" && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "/.")
}

// skip gives the words behind the options; false when an option is not known
// before the shell has put it in.
func (w *wrapper) skip(args []word) (rest []word, ok bool) {
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg.dynamic:
			return nil, false
		case arg.text == "--":
			return args[1:], true
		case !strings.HasPrefix(arg.text, "-") || arg.text == "-":
			return args, true
		}
		args = args[1:]
		if w.takesNext(arg.text) && len(args) > 0 {
			args = args[1:]
		}
	}
	return args, true
}

// takesNext reports whether the value of an option is the next word.
func (w *wrapper) takesNext(option string) bool {
	if strings.HasPrefix(option, "--") {
		return slices.Contains(w.long, option)
	}
	for i, c := range option[1:] {
		if strings.ContainsRune(w.valued, c) {
			return i == len(option)-2
		}
	}
	return false
}

// unwrapShell reads `sh -c LINE`. A shell without a line or a script reads
// its commands from its input.
func (l *line) unwrapShell(name string, args []word, depth int) {
	hasLine := false
	shell := wrapper{valued: "oO", long: []string{"--rcfile", "--init-file"}}
	rest, ok := shell.skip(args)
	if !ok {
		l.cannotRead("an argument of %s is known to the shell only", name)
		return
	}
	for _, arg := range args[:len(args)-len(rest)] {
		if arg.text == "--version" || arg.text == "--help" {
			return
		}
		hasLine = hasLine || arg.text == "--command" || isCluster(arg.text) && strings.Contains(arg.text, "c")
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

// parseWords reads words that are put together to a line.
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
	watch := wrapper{valued: "nq", long: []string{"--interval", "--equexit"}}
	rest, ok := watch.skip(args)
	if !ok {
		l.cannotRead("an argument of watch is known to the shell only")
		return
	}
	if len(rest) > 0 {
		l.parseWords(rest, depth)
	}
}

// unwrapAlias reads what names are made to stand for.
func (l *line) unwrapAlias(args []word, depth int) {
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg.text, "="); ok {
			l.parseWords([]word{{value, arg.dynamic}}, depth)
		}
	}
}

// unwrapSSH reads the command that runs on the other machine.
func (l *line) unwrapSSH(args []word, depth int) {
	ssh := wrapper{valued: "BbcDEeFIiJLlmOopQRSWw"}
	if rest, ok := ssh.skip(args); ok && len(rest) > 1 {
		l.parseWords(rest[1:], depth)
	}
}

// unwrapDashC reads programs that take a line after -c, wherever that stands,
// and flock, which takes a plain command too.
func (l *line) unwrapDashC(name string, args []word, depth int) {
	for i, arg := range args {
		dashC := arg.text == "--command" || isCluster(arg.text) && strings.HasSuffix(arg.text, "c")
		if dashC && i+1 < len(args) {
			l.parseWords(args[i+1:i+2], depth)
			return
		}
		if line, ok := strings.CutPrefix(arg.text, "--command="); ok {
			l.parseWords([]word{{line, arg.dynamic}}, depth)
			return
		}
	}
	if name == "flock" {
		l.unwrapPlain(name, wrapper{valued: "wE", long: []string{"--timeout", "--conflict-exit-code"}, operands: 1}, args, depth)
	}
}

// unwrapFind reads the commands of -exec and its likes.
func (l *line) unwrapFind(args []word, depth int) {
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
