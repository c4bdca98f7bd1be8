package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/pins"
)

type changedTool struct {
	Source string `json:"source"`
	Name   string `json:"name"`
	New    bool   `json:"new,omitempty"`
	// Changes are in words; Was and Is are the definitions, Was "" if unknown.
	Changes []string `json:"changes,omitempty"`
	Was     string   `json:"was,omitempty"`
	Is      string   `json:"is"`
}

func (a *app) trustToolsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "tools [NAME...]",
		Short: "Approve changed tools of plugins and MCP servers",
		Long: `Approve changed tools of plugins and MCP servers.

When a plugin or server is first used, the description, parameters and effects of
each of its tools are pinned, in agent.lock.hcl and in your own configuration. A
tool that differs later, or is new, is left out until you approve it. Without a name
this shows the differences and asks for each on a terminal; with names it approves
those tools as they are now.`,
		Example: `  toolhost trust tools
  toolhost trust tools gh_create_issue
  toolhost trust tools --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON && len(args) > 0 {
				return usagef("Leave out --json to approve a tool.", "--json lists the changed tools and takes no name")
			}
			return a.trustTools(c.Context(), args, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the changed tools as JSON, and approve nothing")
	return c
}

func (a *app) trustTools(ctx context.Context, names []string, asJSON bool) error {
	a.patience = listPatience
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if servers := p.Servers(); servers != nil {
		servers.Connect(ctx)
		p.TakeOver(ctx)
	}
	changed := p.ChangedTools()
	if asJSON {
		list := []changedTool{}
		for _, c := range changed {
			t := changedTool{Source: c.Source, Name: c.Name, New: c.Added, Was: c.Old, Is: c.New}
			if c.Old != "" {
				t.Changes = c.Words()
			}
			list = append(list, t)
		}
		return writeIndented(a.out, list)
	}
	if len(changed) == 0 {
		fmt.Fprintln(a.out, "No tool of a plugin or an MCP server differs from what was approved.")
		return nil
	}
	var approved []pins.Change
	for _, c := range changed {
		a.showChanged(c)
		yes := slices.ContainsFunc(names, func(name string) bool { return tells(p, c, name) })
		if len(names) == 0 && isTerminal(a.in) {
			line, _, err := a.readLine(ctx, "Approve it as it is now? (y/n) ")
			if err != nil {
				return err
			}
			yes = slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
		}
		if yes {
			approved = append(approved, c)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(changed, func(c pins.Change) bool { return tells(p, c, name) }) {
			return usagef("toolhost trust tools shows those that have.", "the tool %q has not changed", name)
		}
	}
	if err := p.ApproveTools(approved); err != nil {
		return err
	}
	for _, c := range approved {
		fmt.Fprintf(a.out, "Approved %s of %s.\n", show.Line(c.Name), c.Source)
	}
	if len(approved) == 0 && !isTerminal(a.in) {
		fmt.Fprintln(a.out, "Nothing was approved. toolhost trust tools NAME approves one.")
	}
	return nil
}

// tells reports whether name is the tool's: the source's name, or with agent.hcl's prefix.
func tells(p *project.Project, c pins.Change, name string) bool {
	for _, s := range p.Config().Servers {
		if c.Source == "mcp "+s.Name && name == s.Prefix+c.Name {
			return true
		}
	}
	return name == c.Name
}

func (a *app) showChanged(c pins.Change) {
	fmt.Fprintf(a.out, "%s of %s:\n", a.painter.bold(show.Line(c.Name)), show.Line(c.Source))
	switch {
	case c.Added:
		fmt.Fprintln(a.out, "(it is new; this is what it says)")
		a.printDiff(show.Text(c.New))
		return
	case c.Old == "":
		fmt.Fprintln(a.out, "(what was approved is not kept on this machine; this is what it says now)")
		a.printDiff(show.Text(c.New))
		return
	}
	for _, words := range c.Words() {
		fmt.Fprintln(a.out, "- "+show.Line(words))
	}
	a.printDiff(show.Text(textedit.Unified("approved", "now", []byte(c.Old), []byte(c.New), 3)))
}
