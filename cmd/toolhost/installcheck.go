package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/face/clientconfig"
	"github.com/toolhost/toolhost/internal/face/export"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/project/agentfile"
)

// ownVariables locate the user's approvals and toolhost's caches, or approve for one run.
var ownVariables = []string{"TOOLHOST_TRUST", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}

// examined is the agent.hcl of the project for which a client is set up.
type examined struct {
	client   string
	standing *agentfile.Standing // nil if the file has mistakes
	mistakes config.Diagnostics
	err      error // why it could not be read
	path     string
}

// examineFor reads the selected agent.hcl without output.
func (a *app) examineFor(client string) *examined {
	found := &examined{client: client}
	quiet := *a
	quiet.reported = &found.mistakes
	found.standing, found.err = quiet.findStanding()
	found.path, _ = a.configPath()
	return found
}

// env names the environment variables that the server needs.
func (e *examined) env() []string {
	var names []string
	if e.standing != nil {
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

// warn reports what a client would not show: why the server offers less than agent.hcl declares.
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
		if client.FiltersEnv() {
			next += " Then run toolhost install " + e.client +
				" again: it passes on only the variables that its entry names, and the file may read some."
		}
		say(text, next)
	}
	if _, err := project.SelectToolset(e.standing.Config, a.flags.toolset); err != nil {
		failed := tool.AsError(err)
		say(cmp.Or(failed.Message, "the toolset is not known")+", so the server does not start here.",
			failed.Suggestion)
	}
}

const (
	largeList = 16 << 10 // bytes; larger lists slow down a client that sends them in each request
	mostName  = 64       // characters; the limit of model APIs
)

// measureList warns of a large list of tools, and of names too long with the client's server prefix.
// warn has reported what prevents opening the project.
func (a *app) measureList(ctx context.Context, flags clientFlags) {
	quiet := *a
	quiet.err = io.Discard
	p, err := quiet.open(ctx)
	if err != nil {
		return
	}
	defer p.Close()
	var defs []*tool.Definition
	var long []string
	for _, e := range p.Host.Catalog().Entries() {
		defs = append(defs, e.Definition())
		if len("mcp__"+flags.name+"__"+e.Name) > mostName {
			long = append(long, show.Line(e.Name))
		}
	}
	if len(long) > 0 {
		slices.Sort(long)
		fmt.Fprintf(a.err, "%s Behind mcp__%s__, which clients put before a name, these tools are too long for model "+
			"APIs: %s\n  Shorten the tool's name or prefix in agent.hcl, or the server's with --name.\n", a.painter.yellow("!"),
			flags.name, change.Names(long))
	}
	var sent bytes.Buffer // without indentation
	out, err := export.Definitions(export.MCP, defs, nil)
	if err == nil && json.Compact(&sent, out) == nil && sent.Len() > largeList && !flags.search {
		fmt.Fprintf(a.out, "  The list of its %d tools has %d KB. If the client sends it with each request, "+
			"--search-tools or --toolset NAME makes it shorter.\n", len(defs), sent.Len()>>10)
	}
}
