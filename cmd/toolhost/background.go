package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/background"
	"github.com/toolhost/toolhost/host/subagent"
)

// tasks are the background tasks of the project's workspace.
func (p *project) tasks() *background.Store {
	return background.Open(p.workspace.Root(), background.Options{})
}

func (a *app) psCommand() *cobra.Command {
	var all, asJSON bool
	var session string
	c := &cobra.Command{
		Use:   "ps",
		Short: "List the background tasks that run in this workspace",
		Example: `  toolhost ps
  toolhost ps --all --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.close()
			tasks, err := p.tasks().List()
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
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also those that have ended")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	c.Flags().StringVar(&session, "session", "", "only those of this session")
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s ago\t%s\n", t.ID, t.State, exit, harmless(t.Session),
			time.Since(t.Started).Round(time.Second), harmless(title))
	}
	return w.Flush()
}

func (a *app) killCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "kill ID...",
		Short:   "End background tasks, with everything they started",
		Example: `  toolhost kill njk6u5vd3x`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, ids []string) error {
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.close()
			for _, id := range ids {
				task, already, err := p.tasks().Kill(c.Context(), id)
				if err != nil {
					return err
				}
				if already {
					fmt.Fprintf(a.out, "%s had ended already: %s\n", id, task.State)
					continue
				}
				fmt.Fprintf(a.out, "%s is killed\n", id)
			}
			return nil
		},
	}
}

// owners are the sessions whose background tasks end with this process.
type owners struct {
	store *background.Store

	mu       sync.Mutex
	sessions map[string]*background.Owner
}

// ownSessions makes the background tasks of the sessions that are served from
// now on end with their session.
func (p *project) ownSessions() {
	p.owners = &owners{store: p.tasks(), sessions: make(map[string]*background.Owner)}
}

// own takes over a session at its first call. It does nothing on nil owners.
func (o *owners) own(session string) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sessions[session] != nil {
		return nil
	}
	owner, err := o.store.Own(session)
	if err != nil {
		return err
	}
	o.sessions[session] = owner
	return nil
}

// end ends the tasks of a session.
func (o *owners) end(session string) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	owner := o.sessions[session]
	delete(o.sessions, session)
	o.mu.Unlock()
	if owner == nil {
		return nil
	}
	_, err := owner.End(context.Background())
	return err
}

// endAll ends the tasks of all sessions that were owned.
func (o *owners) endAll() {
	if o == nil {
		return
	}
	o.mu.Lock()
	all := o.sessions
	o.sessions = nil
	o.mu.Unlock()
	var ending sync.WaitGroup
	for _, owner := range all {
		ending.Go(func() { _, _ = owner.End(context.Background()) })
	}
	ending.Wait()
}

// runsTasks reports whether the tools of a toolset start background tasks.
func runsTasks(toolset string) bool { return toolset == "clemini" || toolset == "ocode" }

// agentSettings are the agent blocks for the plugins that delegate.
func agentSettings(cfg *config.Config) subagent.Agents {
	agents := subagent.Agents{}
	for _, a := range cfg.Agents {
		agents = append(agents, subagent.Agent{
			Role: a.Role, Description: a.Description, Command: a.Command, Prompt: a.Prompt, Env: a.Env, Timeout: a.Timeout,
			Network: a.Access.Network, Read: a.Access.Read, Write: a.Access.Write,
		})
	}
	return agents
}

// webSettings is the web block for the plugins that fetch and search.
func webSettings(cfg *config.Config) map[string]any {
	settings := make(map[string]any)
	if len(cfg.Web.Allow) > 0 {
		settings["allow"] = cfg.Web.Allow
	}
	if cfg.Web.Search != "" {
		settings["search"] = cfg.Web.Search
	}
	if cfg.Web.MaxSize > 0 {
		settings["max_size"] = cfg.Web.MaxSize
	}
	if cfg.Web.Timeout > 0 {
		settings["timeout_ms"] = cfg.Web.Timeout.Milliseconds()
	}
	return settings
}
