package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/face/mcpserve/listen"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/sources"
)

type serveFlags struct {
	toolsets []string
	search   bool
	tasks    time.Duration
	http     listen.Flags
	console  bool
	hub      string
	workers  int
}

func (a *app) serveCommand() *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools to MCP clients, over stdin and stdout or over HTTP",
		Long: `Offer the tools to an MCP client over stdin and stdout, or with --http to any
number of clients at http://ADDR/mcp.

Changes of agent.hcl take effect at once. If it has mistakes then, they are in the
log, and the tools stay as they are. If it has mistakes when a client starts the
server, only one tool is offered, which reports them, until they are corrected.
Over stdin and stdout the server ends when its input ends. If it cannot start for
another reason, it offers only one tool until then, which says why.

Over HTTP other toolsets are at /mcp/NAME: those of agent.hcl, or, with --toolset,
only those that it names. Clients must send a token: that in the file of
--token-file, that in TOOLHOST_HTTP_TOKEN, or one that is made for this run and
printed. An address that other machines reach needs one of the first two. A unix
socket needs no token, because only its owner can use it.`,
		Example: `  toolhost serve
  toolhost serve --http 127.0.0.1:8123
  toolhost serve --http 127.0.0.1:8123 --console
  toolhost serve --http 0.0.0.0:8123 --token-file ~/.toolhost-token --tls-cert cert.pem --tls-key key.pem
  toolhost serve --http unix:/run/user/1000/toolhost.sock`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), flags) },
	}
	a.artifactsFlag(c)
	c.Flags().StringSliceVar(&flags.toolsets, "toolset", nil, toolsetHelp()+"; repeatable with --http")
	a.completeToolset(c)
	c.Flags().BoolVar(&flags.search, "search-tools", false,
		"offer a tool search instead of the tool list: three tools that find, describe and call the others")
	c.Flags().DurationVar(&flags.tasks, "task-after", mcpserve.DefaultTaskAfter,
		"how long a call runs before it becomes an MCP task, for clients that support tasks; negative: never")
	flags.http.Register(c.Flags())
	c.Flags().BoolVar(&flags.console, "console", false,
		"with --http: also serve the console (pending approvals and past calls), on its own port")
	c.Flags().StringVar(&flags.hub, "hub", "",
		"with --http: run the sessions on the workers of this hub (docs/FLEET.md)")
	c.Flags().IntVar(&flags.workers, "workers", 0, "with --http: run a hub and this many workers here (docs/FLEET.md)")
	c.FParseErrWhitelist.UnknownFlags = a.forFleet()
	return c
}

func (a *app) serve(ctx context.Context, flags serveFlags) error {
	if flags.console && (flags.http.Address == "" || flags.hub != "" || flags.workers > 0) {
		return usagef("Run toolhost console beside it.", "--console is for a server over HTTP, without a hub")
	}
	if flags.hub != "" || flags.workers > 0 {
		return a.runHub(ctx, a.args)
	}
	if len(flags.toolsets) > 0 {
		a.flags.toolset = flags.toolsets[0]
	}
	if flags.http.Address != "" {
		return a.serveHTTP(ctx, flags)
	}
	if len(flags.toolsets) > 1 {
		return usagef("Name one, or serve them at URLs of their own with --http.",
			"a client on stdin and stdout gets one toolset, not %d", len(flags.toolsets))
	}
	if err := flags.http.Unused(); err != nil {
		return usage(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	offer, err := a.offer(ctx, project.Serving{
		Search: flags.search, FirstList: a.firstList, TaskAfter: flags.tasks,
		Broken: !isTerminal(a.in), // clients show their user nothing of a server that ended
	})
	if err != nil && ctx.Err() == nil && !isTerminal(a.in) {
		return a.serveNotStarted(ctx, err)
	}
	if err != nil {
		return err
	}
	defer offer.Project.Close()
	if isTerminal(a.in) {
		fmt.Fprintln(a.err, "toolhost speaks MCP here: it waits for a client's messages on standard input. A "+
			"client starts it by itself; toolhost install CLIENT sets that up. Ctrl-C ends it.")
	}
	return offer.Server.ServeStdio(ctx, a.in, a.out)
}

// forFleet reports whether toolhost-hub, which has further flags, must serve.
func (a *app) forFleet() bool {
	return slices.ContainsFunc(a.args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == "--hub" || name == "--workers"
	})
}

// listPatience bounds a list's wait for MCP servers' unknown tools: as long as a start may take.
const listPatience = time.Hour

// serveGCPercent: little memory is in use, so with Go's 100 garbage collection took a quarter of the
// time of small calls; 4 MiB more end that.
const serveGCPercent = 200

// offer opens the project for the selected toolset and follows its changes until ctx ends.
func (a *app) offer(ctx context.Context, serving project.Serving) (*project.Offer, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(serveGCPercent)
	}
	opening, err := a.opening(ctx)
	if err != nil {
		return nil, err
	}
	offer, err := opening.Offer(ctx, serving)
	return offer, a.asUsage(err)
}

// restartCommand returns the command that restarts a plugin or MCP server in running sessions.
func (a *app) restartCommand(kind sources.Kind, what string) *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: fmt.Sprintf("Restart %s in every session of this project", what),
		Long: fmt.Sprintf(`Restart %[1]s in every session of this project.

Running sessions notice it within a second. If %[1]s is running, a new one is
started and replaces it; calls in progress finish on the old one. If it pauses
after failures, its next call may start it without waiting.`, what),
		Example: fmt.Sprintf("  toolhost %s restart tracker", kind),
		Args:    cobra.ExactArgs(1),
		RunE: a.inProject(func(_ *cobra.Command, args []string, p *project.Project) error {
			if err := p.RestartSource(kind, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s running sessions restart %s\n", a.painter.green("✓"), args[0])
			return nil
		}),
	}
}
