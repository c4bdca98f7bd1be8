package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/agentfile"
	"github.com/toolhost/toolhost/internal/clientconfig"
	"github.com/toolhost/toolhost/internal/project"
)

// ownVariables say where toolhost keeps what the user has approved and its
// caches, or approve for one run.
var ownVariables = []string{"TOOLHOST_TRUST", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}

// examined is the agent.hcl of the project in which a client is set up.
type examined struct {
	client   string
	standing *agentfile.Standing // nil for a file with mistakes
	mistakes config.Diagnostics
	err      error // why it could not be read at all
	path     string
}

// examineFor reads the agent.hcl that is meant without a word.
func (a *app) examineFor(client string) *examined {
	found := &examined{client: client}
	quiet := *a
	quiet.reported = &found.mistakes
	found.standing, found.err = quiet.findStanding()
	found.path, _ = a.configPath()
	return found
}

// env names the environment variables that the server needs. A file that is
// not approved gets none.
func (e *examined) env() []string {
	var names []string
	if e.standing != nil && e.standing.State == agentfile.Approved {
		names = slices.Clone(e.standing.Config.EnvNames)
	}
	for _, name := range ownVariables {
		if os.Getenv(name) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// warn tells what a client would not show: why the server offers less than
// agent.hcl says.
func (e *examined) warn(a *app, client *clientconfig.Client) {
	say := func(what, next string) { fmt.Fprintf(a.err, "%s %s\n  %s\n", a.painter.yellow("!"), what, next) }
	switch {
	case e.mistakes.HasErrors():
		say(fmt.Sprintf("%s has mistakes (%s), so the server offers only a tool that tells them.",
			filepath.Base(e.path), project.Summarize(&project.MistakesError{Found: e.mistakes})),
			"toolhost validate shows them. The tools come once the file is corrected.")
	case e.err != nil:
		failed := tool.AsError(e.err)
		say(failed.Message+", so the server does not start here.", failed.Suggestion)
	}
	if e.standing == nil {
		return
	}
	if text, next := e.standing.Explain(); text != "" {
		if d := e.standing.Declared; d != nil && len(d.EnvNames) > 0 && client.FiltersEnv() {
			next += " Then run toolhost install " + e.client +
				" again: it passes on only the variables that its entry names, and the file reads some."
		}
		say(text, next)
	}
	if _, err := project.SelectToolset(e.standing.Config, a.flags.toolset); err != nil {
		failed := tool.AsError(err)
		say(cmp.Or(failed.Message, "the toolset is not known")+", so the server does not start here.",
			failed.Suggestion)
	}
}
