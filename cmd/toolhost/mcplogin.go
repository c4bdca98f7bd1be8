package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
)

type loginFlags struct {
	noBrowser bool
	scopes    []string
	timeout   time.Duration
}

func (a *app) mcpLoginCommand() *cobra.Command {
	var flags loginFlags
	c := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in to an MCP server of this project",
		Long: `Log in to an MCP server of this project.

The browser shows the page of the server's authorization server, and leads back
to toolhost. The login is kept in your own configuration, only for this server, and is
renewed automatically for as long as the authorization server allows.

On a machine without a browser use --no-browser: open the page anywhere, and
paste the address that the login ends at, even though that page does not load.`,
		Example: `  toolhost mcp login tracker
  toolhost mcp login tracker --no-browser
  toolhost mcp login tracker --scope write`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDeclared(loginNames),
		RunE: func(c *cobra.Command,
			args []string) error {
			return a.mcpLogin(c.Context(), args[0], flags)
		},
	}
	f := c.Flags()
	f.BoolVar(&flags.noBrowser, "no-browser", false,
		"do not open a browser: print the login address, and ask for the address that the browser is sent to at the end")
	f.StringArrayVar(&flags.scopes, "scope", nil, "also request this scope (repeatable)")
	f.DurationVar(&flags.timeout, "timeout", 5*time.Minute, "how long to wait for the answer")
	return c
}

func (a *app) mcpLogin(ctx context.Context, name string, flags loginFlags) error {
	p, err := a.openServers(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	waiting, cancel := context.WithTimeout(ctx, flags.timeout)
	defer cancel()
	visit := func(ctx context.Context, page oauth.Page) error { return a.visit(ctx, page, flags) }
	if err := p.Servers().Login(waiting, name, flags.scopes, visit); err != nil {
		return err
	}
	if err := p.Servers().Check(ctx, name); err != nil {
		return err
	}
	tools, _, err := p.Servers().Tools(ctx, name)
	if err != nil {
		return err
	}
	state, err := p.Servers().LoginState(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s logged in to %s\n  login: %s\n  tools: %d\n", a.painter.green("✓"), name,
		mcpState{Login: &state}.login(), len(tools))
	return nil
}

// openServers opens the project for a command about its MCP servers.
func (a *app) openServers(ctx context.Context) (*project.Project, error) {
	p, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if p.Servers() == nil {
		p.Close()
		return nil, usagef("Add one to agent.hcl: mcp \"NAME\" { url = \"https://HOST/mcp\" }.",
			"this project has no MCP servers")
	}
	if _, err := p.Logins(p.Config()); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (a *app) visit(ctx context.Context, page oauth.Page, flags loginFlags) error {
	opened := !flags.noBrowser && openBrowser(page.URL)
	if opened {
		fmt.Fprintf(a.err, "Your browser shows %s, where you log in for the MCP server %s. If it does not, open\n",
			show.Line(page.Host), page.Server)
	} else {
		fmt.Fprintf(a.err, "Log in at %s for the MCP server %s: open\n", show.Line(page.Host), page.Server)
	}
	fmt.Fprintf(a.err, "\n  %s\n\n", show.Line(page.URL))
	if flags.noBrowser || isTerminal(a.in) {
		go a.paste(ctx, page)
	}
	return nil
}

// paste reads the URL that the page redirected to, until it is the right one.
func (a *app) paste(ctx context.Context, page oauth.Page) {
	for ended := false; !ended; {
		var line string
		var err error
		line, ended,
			err = a.readLine(ctx, "If the browser is on another machine, paste the address that the page led to: ")
		if err != nil || strings.TrimSpace(line) == "" {
			continue
		}
		if err := page.Answer(strings.TrimSpace(line)); err == nil {
			return
		} else if ctx.Err() == nil {
			fmt.Fprintf(a.err, "%s %v\n", a.painter.yellow("!"), err)
		}
	}
}

// openBrowser opens a page in the desktop's browser, and reports whether it may have worked.
func openBrowser(page string) bool {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	path, err := proc.LookPath(program, "")
	if err != nil {
		return false
	}
	cmd := exec.Command(path, page)
	if cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }()
	return true
}

func (a *app) mcpLogoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout NAME",
		Short: "Log out of an MCP server of this project",
		Long: "Log out of an MCP server of this project: the login is forgotten here, and ended at " +
			"the authorization server if that supports it.",
		Example:           `  toolhost mcp logout tracker`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDeclared(loginNames),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.openServers(c.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			was, err := p.Servers().Logout(c.Context(), args[0])
			if err != nil {
				return err
			}
			if !was {
				fmt.Fprintf(a.out, "You are not logged in to %s.\n", args[0])
				return nil
			}
			fmt.Fprintf(a.out, "%s logged out of %s\n", a.painter.green("✓"), args[0])
			return nil
		},
	}
}
