package policy

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// codeOptions returns the options before a program in an interpreter's own language.
func codeOptions(name string) []string {
	switch {
	case strings.HasPrefix(name, "python"), strings.HasPrefix(name, "pypy"):
		return []string{"-c"}
	case strings.HasPrefix(name, "perl"):
		return []string{"-e", "-E"}
	case strings.HasPrefix(name, "ruby"), strings.HasPrefix(name, "lua"):
		return []string{"-e"}
	case name == "node", name == "nodejs", name == "bun", name == "tsx":
		return []string{"-e", "--eval", "-p", "--print", "-pe"}
	case name == "deno":
		return []string{"eval"}
	case strings.HasPrefix(name, "php"):
		return []string{"-r", "-R", "-B", "-E"}
	case name == "rscript", name == "r", name == "osascript", name == "julia":
		return []string{"-e", "-E", "--eval"}
	}
	return nil
}

// Code returns the programs that a command passes to an interpreter, as arguments or input. piped is set if one
// comes from another command.
func (c *Command) Code() (texts []Word, piped bool) {
	options := codeOptions(c.Program())
	if options == nil {
		return nil, false
	}
	args := c.Words[1:]
	for i, w := range args {
		at, code := takesCode(options, w.Text)
		if !at {
			continue
		}
		if w.Text = code; code == "" && i+1 < len(args) {
			w = args[i+1]
		}
		texts = append(texts, w)
	}
	script := slices.ContainsFunc(args, func(w Word) bool { return w.Text == "-m" || !strings.HasPrefix(w.Text, "-") })
	switch {
	case texts != nil || script:
	case c.Input != nil:
		texts = []Word{*c.Input}
	default:
		return nil, c.Piped
	}
	return texts, false
}

// takesCode reports whether an argument is an option before code, and returns code within it.
func takesCode(options []string, arg string) (found bool, code string) {
	for _, option := range options {
		switch {
		case arg == option:
			return true, ""
		case strings.HasPrefix(option, "--"):
			if rest, ok := strings.CutPrefix(arg, option+"="); ok {
				return true, rest
			}
		case len(option) == 2 && option[0] == '-' && len(arg) > 2 && arg[0] == '-' && arg[1] != '-':
			// A cluster: -ne CODE, -lane CODE, -cCODE.
			letters, rest, ok := strings.Cut(arg[1:], option[1:])
			if ok && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyzSEIB0123456789.") == "" {
				return true, rest
			}
		}
	}
	return false, ""
}

// runners are programs that are no wrappers and run a command that is among their arguments: behind one of
// these words, if there are any. Package danger knows more about them.
var runners = sync.OnceValue(func() map[string][]string {
	all := make(map[string][]string)
	for _, row := range [][2]string{
		{"npx bunx pipx uvx entr parallel systemd-run xvfb-run firejail torsocks proxychains proxychains4 unbuffer cpulimit", ""},
		{"caffeinate gtimeout gxargs genv setarch dbus-run-session screen tmux runuser setpriv", ""},
		{"uv poetry pipenv pdm hatch rye conda mamba doppler op mise devbox", "run exec"},
		{"bundle npm pnpm yarn direnv rbenv asdf", "exec dlx x"},
		{"docker podman nerdctl docker-compose podman-compose kubectl oc", "exec run"},
		{"fd fdfind", "-x -X --exec --exec-batch"},
	} {
		for name := range strings.FieldsSeq(row[0]) {
			all[name] = strings.Fields(row[1])
		}
	}
	return all
})

func (c *Command) runsArguments() bool {
	behind, found := runners()[c.Program()]
	return found && (len(behind) == 0 || slices.ContainsFunc(c.Words, func(w Word) bool { return slices.Contains(behind, w.Text) }))
}

// mentioned reports whether what a command passes to an interpreter or a runner names the pattern's words; certain
// is false for code that only the shell knows. It finds only literal names: a program can compose others.
func (p *pattern) mentioned(c command) (found, certain bool) {
	exportedCommand := c.exported()
	texts, piped := exportedCommand.Code()
	switch name := exportedCommand.Program(); {
	case strings.HasSuffix(name, "awk"):
		texts = exportedCommand.Words[1:]
	case exportedCommand.runsArguments():
		texts = append(texts, Word{Text: textOf(c.words[1:])})
	}
	for _, text := range texts {
		words := wordsOfCode(text.Text)
		for i := range words {
			if matched, _ := p.matchWords(command{words: words[i:]}); matched {
				return true, true
			}
		}
		piped = piped || text.Dynamic && (strings.HasPrefix(text.Text, "$") || strings.HasPrefix(text.Text, "`"))
	}
	return piped, false
}

// wordsOfCode returns what could be words of a command in a program.
func wordsOfCode(code string) (words []word) {
	for _, text := range strings.FieldsFunc(code,
		func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`,;:()[]{}<>|&!$%@\\", r) }) {
		words = append(words, word{text: text})
	}
	return words
}

// runningVariables are those whose value programs run as a shell line or a program.
var runningVariables = regexlimit.Lazy(`^(GIT_(EDITOR|SEQUENCE_EDITOR|PAGER|SSH|SSH_COMMAND|EXTERNAL_DIFF|` +
	`ASKPASS|PROXY_COMMAND)|EDITOR|VISUAL|` +
	`(|MAN|SYSTEMD_|BAT_|DELTA_|PSQL_)PAGER|LESSOPEN|LESSCLOSE|BROWSER|FCEDIT|PROMPT_COMMAND|(SUDO|SVN|HG|PSQL|` +
	`KUBE)_?EDITOR|(SSH|SUDO)_ASKPASS|` +
	`(SVN|HG)_?SSH|RSYNC_(RSH|CONNECT_PROG)|CVS_RSH)$`)

// settingVariables give git settings, which can run anything.
var settingVariables = regexlimit.Lazy(`^GIT_CONFIG_(COUNT|PARAMETERS|(KEY|VALUE)_.*)$`)

// assigned reads a variable that the line sets: some hold what a program runs.
func (l *line) assigned(name string, value word, depth int) {
	switch {
	case settingVariables().MatchString(name):
		l.cannotRead("%s has git run more than the line shows", name)
	case value.text != "" && runningVariables().MatchString(name):
		value.text = strings.TrimLeft(value.text, "|-") // as in LESSOPEN
		l.parseWords([]word{value}, depth)
	}
}

// assignments reads the variables that a command or a declaration sets.
func (l *line) assignments(all []*syntax.Assign, depth int) {
	for _, a := range all {
		if a.Name != nil && a.Value != nil {
			l.assigned(a.Name.Value, wordOf(a.Value), depth)
		}
	}
}

// assignedWord is assigned for NAME=VALUE in one word.
func (l *line) assignedWord(w word, depth int) {
	name, value, found := strings.Cut(w.text, "=")
	if w.text = value; found {
		l.assigned(name, w, depth)
	}
}
