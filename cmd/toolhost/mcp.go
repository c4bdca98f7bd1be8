package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/store/sources"
)

func (a *app) mcpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "List, restart, log in to and log out of the MCP servers of this project",
	}
	c.AddCommand(a.mcpListCommand(), a.mcpLoginCommand(), a.mcpLogoutCommand(),
		a.restartCommand(sources.Server, "an MCP server"))
	return c
}

type mcpState struct {
	Name    string   `json:"name"`
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	// Login is nil if there are no logins: for a program, or a server authenticated by headers.
	Login *oauth.State `json:"login,omitempty"`
	// Problem is why the login cannot be read.
	Problem *tool.Error `json:"problem,omitempty"`
}

func (a *app) mcpListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List this project's MCP servers and your login status",
		Long: "List this project's MCP servers and your login status. " +
			"No server is started or contacted; toolhost doctor does that.",
		Example: `  toolhost mcp list`,
		Args:    cobra.NoArgs,
		RunE: a.inProject(func(_ *cobra.Command, _ []string, p *project.Project) error {
			states := []mcpState{}
			for _, s := range p.Config().Servers {
				states = append(states, serverState(p, s))
			}
			if asJSON {
				return writeIndented(a.out, states)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tLOGIN\tWHERE")
			for _, s := range states {
				fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.login(), show.Line(cmp.Or(s.URL, strings.Join(s.Command, " "))))
			}
			return w.Flush()
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func serverState(p *project.Project, s config.Server) mcpState {
	state := mcpState{Name: s.Name, URL: s.URL, Command: s.Command}
	if p.Servers() == nil {
		return state // a fixed toolset
	}
	login, err := p.Servers().LoginState(s.Name)
	switch {
	case errors.Is(err, &tool.Error{Code: tool.Unsupported}):
	case err != nil:
		state.Problem = tool.AsError(err)
	default:
		state.Login = &login
	}
	return state
}

func (s mcpState) login() string {
	switch l := s.Login; {
	case s.Problem != nil:
		return s.Problem.Message
	case l == nil:
		return "-"
	case l.At.IsZero():
		return "none"
	case !l.LoggedIn && !l.Renews:
		return "over"
	case l.Renews:
		return "renews itself"
	case l.Expires.IsZero():
		return "until it is refused"
	default:
		return "until " + l.Expires.Local().Format(time.DateTime)
	}
}
