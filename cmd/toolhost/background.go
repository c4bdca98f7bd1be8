package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/run/background"
)

func (a *app) psCommand() *cobra.Command {
	var all, asJSON bool
	var session string
	c := &cobra.Command{
		Use:   "ps",
		Short: "List the running background tasks of this workspace",
		Example: `  toolhost ps
  toolhost ps --all --json`,
		Args: cobra.NoArgs,
		RunE: a.inProject(func(_ *cobra.Command, _ []string, p *project.Project) error {
			tasks, err := p.Tasks().List()
			if err != nil {
				return err
			}
			tasks = slices.DeleteFunc(tasks, func(t background.Task) bool {
				return t.Done() && !all || session != "" && t.Session != session
			})
			if asJSON {
				return writeIndented(a.out, append([]background.Task{}, tasks...))
			}
			return a.printTasks(tasks)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "include tasks that have ended")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&session, "session", "", "only those of this session")
	a.completeSessions(c)
	return c
}

func (a *app) printTasks(tasks []background.Task) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tEXIT\tSESSION\tSTARTED\tCOMMAND")
	for _, t := range tasks {
		exit := "-"
		if t.ExitCode != nil {
			exit = strconv.Itoa(*t.ExitCode)
		}
		title, _, _ := strings.Cut(t.Title, "\n")
		if runes := []rune(title); len(runes) > 80 {
			title = string(runes[:77]) + "..."
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s ago\t%s\n", t.ID, t.State, exit, show.Line(t.Session),
			time.Since(t.Started).Round(time.Second), show.Line(title))
	}
	return w.Flush()
}

func (a *app) killCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "kill ID...",
		Short:   "Stop background tasks and their child processes",
		Example: `  toolhost kill njk6u5vd3x`,
		Args:    cobra.MinimumNArgs(1),
		RunE: a.inProject(func(c *cobra.Command, ids []string, p *project.Project) error {
			for _, id := range ids {
				task, already, err := p.Tasks().Kill(c.Context(), id)
				if err != nil {
					return unknownName(true, err)
				}
				if already {
					fmt.Fprintf(a.out, "%s had ended already: %s\n", id, task.State)
					continue
				}
				fmt.Fprintf(a.out, "%s is killed\n", id)
			}
			return nil
		}),
	}
	a.completeFrom(c, "", runningTasks)
	return c
}
