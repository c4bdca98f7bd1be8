package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolhost/toolhost/internal/matching"
)

// runningVariables are those whose value programs take for a line of the shell,
// or for a program that they run.
var runningVariables = matching.Lazy(`^(GIT_(EDITOR|SEQUENCE_EDITOR|PAGER|SSH|SSH_COMMAND|EXTERNAL_DIFF|` +
	`ASKPASS|PROXY_COMMAND)|EDITOR|VISUAL|` +
	`(|MAN|SYSTEMD_|BAT_|DELTA_|PSQL_)PAGER|LESSOPEN|LESSCLOSE|BROWSER|FCEDIT|PROMPT_COMMAND|(SUDO|SVN|HG|PSQL|` +
	`KUBE)_?EDITOR|(SSH|SUDO)_ASKPASS|` +
	`(SVN|HG)_?SSH|RSYNC_(RSH|CONNECT_PROG)|CVS_RSH)$`)

// settingVariables give git settings, which can run anything.
var settingVariables = matching.Lazy(`^GIT_CONFIG_(COUNT|PARAMETERS|(KEY|VALUE)_.*)$`)

// assigned reads a variable that the line sets: some hold what a program runs.
func (l *line) assigned(name string, value word, depth int) {
	switch {
	case settingVariables().MatchString(name):
		l.cannotRead("%s has git run more than the line shows", name)
	case value.text != "" && runningVariables().MatchString(name):
		value.text = strings.TrimLeft(value.text, "|-") // as LESSOPEN has it
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
