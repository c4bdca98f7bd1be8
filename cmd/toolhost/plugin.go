package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/sources"
)

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Install, list, lock, verify, create and test plugins",
	}
	c.AddCommand(a.pluginListCommand(), a.pluginDescribeCommand(), a.pluginNewCommand(), a.pluginTestCommand(),
		a.pluginInstallCommand(), a.pluginUpdateCommand(), a.pluginRemoveCommand(), a.pluginLockCommand(),
		a.pluginVerifyCommand(), a.restartCommand(sources.Plugin, "a plugin"))
	return c
}

type pluginState struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Shipped bool   `json:"shipped,omitempty"`
	// Version, SHA256 and Tools (their number) are omitted if unknown.
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Tools   int    `json:"tools,omitempty"`
	// Lock says whether the program is pinned; empty for shipped plugins.
	Lock string `json:"lock,omitempty"`
	// LastError is why it cannot be used.
	LastError *tool.Error `json:"last_error,omitempty"`
}

func pluginStates(p *project.Project) []pluginState {
	all := []pluginState{}
	for _, s := range p.Plugins().Status() {
		state := pluginState{Name: s.Name, Path: s.Path, Shipped: s.Shipped, Version: s.Version, SHA256: s.SHA256,
			Tools: s.Tools, LastError: s.LastError}
		if i := slices.IndexFunc(p.Config().Plugins, func(c config.Plugin) bool { return c.Name == s.Name }); i >= 0 &&
			p.Lock() != nil {
			state.Lock = p.Lock().State(p.Config().Plugins[i])
		}
		all = append(all, state)
	}
	return all
}

func (a *app) pluginListCommand() *cobra.Command {
	var asJSON, installed bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the plugins of this project",
		Example: `  toolhost plugin list
  toolhost plugin list --installed`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if installed {
				return a.listInstalled(asJSON)
			}
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			if asJSON {
				return writeIndented(a.out, pluginStates(p))
			}
			return a.listPlugins(pluginStates(p))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&installed, "installed", false,
		"list all plugins installed for this user, whether or not this project uses them")
	return c
}

func (a *app) listPlugins(states []pluginState) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tTOOLS\tLOCK\tFROM")
	for _, s := range states {
		from := s.Path
		if s.Shipped {
			from = "shipped"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", s.Name, cmp.Or(s.Version, "?"), s.Tools, cmp.Or(s.Lock, "-"), from)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range states {
		if s.LastError != nil {
			fmt.Fprintf(a.out, "%s %s\n  %s\n", a.painter.yellow("!"), show.Text(indented(s.LastError.Message)),
				s.LastError.Suggestion)
		}
	}
	return nil
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }
