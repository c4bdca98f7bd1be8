package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/keep/sources"
	"github.com/toolhost/toolhost/internal/peer/plugins"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/show"
)

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Install, lock, check and write plugins, and look at them",
	}
	c.AddCommand(a.pluginListCommand(), a.pluginDescribeCommand(), a.pluginStatsCommand(), a.pluginNewCommand(),
		a.pluginTestCommand(),
		a.pluginInstallCommand(), a.pluginUpdateCommand(), a.pluginRemoveCommand(), a.pluginLockCommand(),
		a.pluginVerifyCommand(), a.restartCommand(sources.Plugin, "a plugin"))
	return c
}

// pluginState is a plugin in the JSON of toolhost plugin list.
type pluginState struct {
	plugins.Status
	Live        []plugins.LiveProcess `json:"live,omitempty"`
	LastErrorAt time.Time             `json:"last_error_at,omitzero"`
	// Lock says whether the program is pinned; empty for shipped plugins.
	Lock string `json:"lock,omitempty"`
}

// pluginStates tells what the plugins do in any process, since that of this
// command runs none.
func pluginStates(p *project.Project) []pluginState {
	all := []pluginState{}
	for _, s := range p.Plugins().Status() {
		h := p.Plugins().History(s.Name)
		state := pluginState{Status: s, Live: h.Live}
		if i := slices.IndexFunc(p.Config().Plugins, func(c config.Plugin) bool { return c.Name == s.Name }); i >= 0 &&
			p.Lock() != nil {
			state.Lock = p.Lock().State(p.Config().Plugins[i])
		}
		switch {
		case s.State != plugins.Idle:
		case len(h.Live) > 0:
			state.State, state.PID, state.StartedAt = plugins.Running, h.Live[0].PID, h.Live[0].Since
		case h.Failing():
			state.State = plugins.Failed
		}
		if h.Failing() {
			state.LastError, state.LastErrorAt = h.LastError, h.LastErrorAt
		}
		all = append(all, state)
	}
	return all
}

func (a *app) pluginListCommand() *cobra.Command {
	var asJSON, installed bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the plugins of this project, their state and what last went wrong",
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
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	c.Flags().BoolVar(&installed, "installed", false,
		"list what is installed for this user, whatever this project uses")
	return c
}

func (a *app) listPlugins(states []pluginState) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tTOOLS\tSTATE\tLOCK\tFROM")
	for _, s := range states {
		from, state := s.Path, string(s.State)
		if s.Shipped {
			from = "shipped"
		}
		if s.State == plugins.Running {
			state = fmt.Sprintf("running (%d)", s.PID)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", s.Name, cmp.Or(s.Version, "?"), s.Tools, state,
			cmp.Or(s.Lock, "-"), from)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range states {
		if s.LastError != nil {
			fmt.Fprintf(a.out, "%s %s%s\n  %s\n", a.painter.yellow("!"), show.Text(indented(s.LastError.Message)),
				ago(s.LastErrorAt), s.LastError.Suggestion)
		}
	}
	return nil
}

// indented sets further lines of a text under its first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// ago says how long ago something was, "" for never.
func ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s ago)", time.Since(at).Round(time.Second))
}
