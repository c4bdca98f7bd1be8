package policy

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// plainSettings are git settings that neither run nor read anything else.
var plainSettings = regexlimit.Lazy(`^(user|author|committer|color|advice|column|status|init|push|pull|fetch|` +
	`rebase|merge|log|commit|branch|tag|` +
	`format|http|protocol|pack|gc|index|checkout|clone|safe|transfer|i18n|stash|blame|feature|versionsort|diff|core)\.[a-z-]+$`)

var runningSettings = regexlimit.Lazy(`^(diff\.(external|.*command|.*textconv|orderfile)|merge\.(tool|guitool|` +
	`verifysignatures)|core\.(hookspath|fsmonitor|gitproxy|` +
	`attributesfile|excludesfile|worktree|askpass|alternaterefscommand|.*command)|commit\.template|` +
	`init\.templatedir|push\.recursesubmodules|protocol\..*|http\.(proxy|.*cert.*|.*key))$`)

// shellSettings are those with a shell line as value.
var shellSettings = regexlimit.Lazy(`^(core\.(pager|editor|sshcommand)|sequence\.editor|pager\..*|` +
	`diff\.external|core\.(fsmonitor|askpass))$`)

// unwrapGit parses what git runs for a line: its aliases and settings, and git commands that take a command.
func (l *line) unwrapGit(args []word, depth int) {
	git := wrapper{flags: "pPhv", valued: "Cc",
		long: "--git-dir --work-tree --namespace --super-prefix --attr-source --list-cmds",
		longFlags: "--bare --no-pager --paginate --no-replace-objects --no-lazy-fetch --no-optional-locks " +
			"--no-advice --literal-pathspecs --glob-pathspecs " +
			"--noglob-pathspecs --icase-pathspecs --html-path --man-path --info-path"}
	rest, ok := git.skip(args)
	options := args[:len(args)-len(rest)]
	if !ok {
		l.cannotRead("an option of git is not known, or known to the shell only")
	}
	aliases := make(map[string]word)
	for i, w := range options {
		if w.text == "-c" && i+1 < len(options) {
			l.gitSetting(options[i+1], aliases, depth)
		} else if setting, joined := strings.CutPrefix(w.text, "-c"); joined && setting != "" &&
			(i == 0 || options[i-1].text != "-c") {
			w.text = setting
			l.gitSetting(w, aliases, depth)
		}
	}
	if len(rest) == 0 {
		return
	}
	if alias, found := aliases[rest[0].text]; found {
		l.gitAlias(alias, rest[1:], depth)
	}
	l.gitRuns(rest[0].text, rest[1:], depth)
}

func (l *line) gitSetting(w word, aliases map[string]word, depth int) {
	name, value, _ := strings.Cut(w.text, "=")
	lower := strings.ToLower(name)
	w.text = value
	switch alias, isAlias := strings.CutPrefix(lower, "alias."); {
	case w.dynamic && w.fixed <= len(name):
		l.cannotRead("a setting of git is known to the shell only")
	case isAlias:
		aliases[alias] = w
	case shellSettings().MatchString(lower):
		l.parseWords([]word{w}, depth)
	case !plainSettings().MatchString(lower), runningSettings().MatchString(lower):
		l.cannotRead("the setting %s of git can run more than the line shows", name)
	}
}

// gitAlias parses an alias: a shell line, or other words for git.
func (l *line) gitAlias(alias word, args []word, depth int) {
	if line, shell := strings.CutPrefix(alias.text, "!"); shell || alias.dynamic {
		alias.text = line
		l.parseWords([]word{alias}, depth)
		return
	}
	words := []word{{text: "git"}}
	for _, text := range strings.Fields(alias.text) {
		words = append(words, word{text: strings.Trim(text, `'"`)})
	}
	l.add(append(words, args...), depth)
}

func (l *line) gitRuns(name string, args []word, depth int) {
	texts := make([]string, len(args))
	for i, w := range args {
		texts[i] = w.text
	}
	switch {
	case name == "bisect" && len(args) > 1 && texts[0] == "run":
		l.add(args[1:], depth)
	case name == "submodule" && slices.Contains(texts, "foreach"):
		rest := args[slices.Index(texts, "foreach")+1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
			rest = rest[1:]
		}
		l.parseWords(rest, depth)
	case name == "rebase":
		for i, w := range args {
			line, joined := strings.CutPrefix(w.text, "--exec=")
			if !joined {
				line, joined = strings.CutPrefix(w.text, "-x")
			}
			if w.text = line; joined && line != "" {
				l.parseWords([]word{w}, depth)
			} else if (texts[i] == "-x" || texts[i] == "--exec") && i+1 < len(args) {
				l.parseWords(args[i+1:i+2], depth)
			}
		}
	case name == "config":
		for i, text := range texts {
			if i > 0 && strings.HasPrefix(text, "!") {
				args[i].text = text[1:]
				l.parseWords(args[i:i+1], depth)
			}
		}
	}
}
