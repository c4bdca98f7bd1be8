package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/keep/sources"
	"github.com/toolhost/toolhost/internal/project"
)

// restartCommand has running sessions start a plugin or MCP server anew.
func (a *app) restartCommand(kind sources.Kind, what string) *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: fmt.Sprintf("Have every session of this project start %s anew", what),
		Long: fmt.Sprintf(`Have every session of this project start %[1]s anew.

Sessions that run notice it within a second. Where %[1]s runs, a new one is
started and takes the place of the old one, which goes on for its calls; where it
rests after failures, it may start with its next call.`, what),
		Example: fmt.Sprintf("  toolhost %s restart tracker", kind),
		Args:    cobra.ExactArgs(1),
		RunE: a.inProject(func(_ *cobra.Command, args []string, p *project.Project) error {
			if err := p.StartAnew(kind, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s sessions that run start %s anew\n", a.painter.green("✓"), args[0])
			return nil
		}),
	}
}
