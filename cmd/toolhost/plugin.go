package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Look at plugins",
	}
	c.AddCommand(a.pluginListCommand(), a.pluginDescribeCommand())
	return c
}

func (a *app) pluginListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the plugins of this project and their state",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.close()
			status := p.parts.manager.Status()
			if asJSON {
				return writeIndented(a.out, status)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tVERSION\tTOOLS\tSTATE\tFROM")
			for _, s := range status {
				from := s.Path
				if s.Shipped {
					from = "shipped"
				}
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", s.Name, firstOf(s.Version, "?"), s.Tools, s.State, from)
				if s.LastError != nil {
					fmt.Fprintf(w, "\t\t\t\t%s\n", s.LastError.Message)
				}
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}

func (a *app) pluginDescribeCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "describe NAME",
		Short: "Show a plugin's tools, what they need and its configuration",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.close()
			source := p.parts.manager.Source(args[0])
			if source == nil {
				return usagef("toolhost plugin list names them all.", "there is no plugin %q", args[0])
			}
			d, err := source.Describe(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeIndented(a.out, d)
			}
			fmt.Fprintf(a.out, "%s %s\n", a.painter.bold(d.Name), d.Version)
			for _, def := range d.Tools {
				fmt.Fprintf(a.out, "\n  %s (%s; needs %s)\n    %s\n", a.painter.bold(def.Name), def.Risk, firstOf(joinPermissions(def.Permissions), "nothing"), def.Description)
			}
			if len(d.ConfigSchema) > 0 {
				fmt.Fprintf(a.out, "\nConfiguration:\n  %s\n", compact(d.ConfigSchema))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}
