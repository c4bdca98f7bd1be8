package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/mcpserve"
	"github.com/toolhost/toolhost/internal/project"
)

// serveFlags are the flags of toolhost serve.
type serveFlags struct {
	toolsets []string
	search   bool
	http     httpFlags
}

func (a *app) serveCommand() *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools to MCP clients, over stdin and stdout or over HTTP",
		Long: `Offer the tools to an MCP client over stdin and stdout, or with --http to any
number of clients at http://ADDR/mcp.

Changes of agent.hcl take effect at once; a broken one is reported in the log
and the tools stay as they are. If it is broken when a client starts the server,
one tool is offered, which tells the mistakes, until they are corrected. Over stdin and stdout the server ends when its
input ends.

Over HTTP other toolsets are at /mcp/NAME: those of agent.hcl, or where
--toolset is given those it names and no other. Clients must send a token: one
in a file that only you can read, or in TOOLHOST_HTTP_TOKEN, or else the one
that is made for this run and printed. Addresses that other machines reach need
one of the first two; a unix socket needs none, it is for its owner.`,
		Example: `  toolhost serve
  toolhost serve --http 127.0.0.1:8123
  toolhost serve --http 0.0.0.0:8123 --token-file ~/.toolhost-token --tls-cert cert.pem --tls-key key.pem
  toolhost serve --http unix:/run/user/1000/toolhost.sock`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), flags) },
	}
	a.artifactsFlag(c)
	c.Flags().StringSliceVar(&flags.toolsets, "toolset", nil, toolsetHelp()+"; with --http more than one")
	a.completeToolset(c)
	c.Flags().BoolVar(&flags.search, "search-tools", false,
		"instead of the list of tools offer three by which they are found, described and called")
	flags.http.register(c.Flags())
	return c
}

func (a *app) serve(ctx context.Context, flags serveFlags) error {
	if len(flags.toolsets) > 0 {
		a.flags.toolset = flags.toolsets[0]
	}
	if flags.http.address != "" {
		return a.serveHTTP(ctx, flags)
	}
	if len(flags.toolsets) > 1 {
		return usagef("Name one, or serve them at URLs of their own with --http.",
			"a client on stdin and stdout gets one toolset, not %d", len(flags.toolsets))
	}
	if err := flags.http.unused(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.serveBroken = !isTerminal(a.in) // a client shows its user nothing of a server that ends
	offer, err := a.offer(ctx, flags.search)
	if err != nil {
		return err
	}
	defer offer.project.Close()
	if isTerminal(a.in) {
		fmt.Fprintln(a.err, "toolhost speaks MCP here: it waits for a client's messages on standard input. A client starts it by itself; toolhost install CLIENT has it do so. Ctrl-C ends it.")
	}
	return offer.server.ServeStdio(ctx, a.in, a.out)
}

// How long the tools of MCP servers that are not known yet are waited for.
const (
	// servePatience bounds how long the first list of a server waits. Clients
	// are told when more come, and many heed only the first list.
	servePatience = 10 * time.Second
	// listPatience is as long as a start may take, for whoever asks for the
	// list.
	listPatience = time.Hour
)

// offer is a toolset that is served.
type offer struct {
	project *project.Project
	server  *mcpserve.Server
}

// serveGCPercent is how much garbage, in percent of what is in use, a server
// may gather before it is collected. Little is in use, so with Go's 100 a
// quarter of the time of small calls went into that; 4 MiB more end it.
const serveGCPercent = 200

// offer opens the project for the toolset of the flags and follows its
// changes until ctx ends.
func (a *app) offer(ctx context.Context, search bool) (*offer, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(serveGCPercent)
	}
	stands := new(standing)
	p, err := a.open(ctx)
	stands.found(a.standing.Load())
	if wrong, ok := errors.AsType[*mistakesError](err); ok && a.serveBroken {
		stands.begin(summarize(wrong))
		p, err = a.openBroken(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.OwnSessions()
	settled := make(chan struct{})
	server := mcpserve.New(p.Host, mcpserve.Options{
		Name: "toolhost", Version: version(), Logger: a.logger, SessionEnded: p.SessionEnded, Search: search,
		Instructions: a.instructions(p, stands), KeepQuestion: p.KeepQuestion, Settled: settled,
	})
	go func() {
		defer close(settled)
		a.connectServers(ctx, p, server)
	}()
	go p.KeepTidy(ctx)
	watch(ctx, p.ConfigFiles, func() { a.reload(ctx, p, server, stands) })
	watch(ctx, p.TaskFiles, func() { a.tasksChanged(ctx, p, server) })
	go p.FollowServers(ctx, server.Refresh)
	go watch(ctx, p.LoginFiles, func() { a.connectServers(ctx, p, server) })
	go server.WatchResources(ctx, watchInterval)
	return &offer{p, server}, nil
}

// connectServers starts the MCP servers whose tools are not known yet, and logs
// which sources give no tools and which tools are left out, for the operator of
// a server. Other commands say it where it matters to them.
func (a *app) connectServers(ctx context.Context, p *project.Project, server *mcpserve.Server) {
	loaded := p.LoadServers(ctx, cmp.Or(a.firstList, servePatience))
	for _, problem := range p.Host.Catalog().Problems() {
		a.logger.WarnContext(ctx, "a source gives no tools", "source", problem.Source, "error", problem.Err)
	}
	if loaded { // what is left out was logged with it
		server.Refresh()
		return
	}
	for _, left := range p.Host.Catalog().LeftOut() {
		a.logger.WarnContext(ctx, "not offered", "name", left.Name, "source", left.Source, "error", left.Err)
	}
}

// reload takes over a changed agent.hcl. A broken one changes nothing.
func (a *app) reload(ctx context.Context, p *project.Project, server *mcpserve.Server, stands *standing) {
	err := p.Reload(ctx)
	kept, isKept := errors.AsType[*project.KeptError](err)
	switch {
	case errors.Is(err, project.ErrClosed):
	case isKept:
		a.logger.WarnContext(ctx, kept.Reason, "next", kept.Next)
		stands.found(a.standing.Load())
	case err != nil:
		a.logger.ErrorContext(ctx, "what has changed is not used; the tools stay as they were", "error", err)
		stands.refuse(summarize(err))
	default:
		stands.found(a.standing.Load())
		server.Refresh()
		go a.connectServers(ctx, p, server)
		a.logger.InfoContext(ctx, "agent.hcl was read again")
	}
}

// tasksChanged takes note of a changed Taskfile, which is read afresh whenever
// it is used.
func (a *app) tasksChanged(ctx context.Context, p *project.Project, server *mcpserve.Server) {
	if err := p.CheckTasks(ctx); err != nil {
		a.logger.ErrorContext(ctx, "the changed Taskfile cannot be used; its commands fail until it is fixed", "error",
			err)
	}
	server.Announce()
}

// watchInterval is how often files are looked at for changes.
const watchInterval = 500 * time.Millisecond

// stamp is what tells two states of a file apart.
type stamp struct {
	size     int64
	modified time.Time
}

// watch calls changed, from another goroutine, after any of the files has
// changed, come or gone since this call, until ctx ends. The files are few, so
// they are looked at rather than subscribed to: that works on every file system
// and survives every way of saving.
func watch(ctx context.Context, files func() []string, changed func()) {
	last := stamps(files())
	go func() {
		ticker := time.NewTicker(watchInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now := stamps(files()); !same(last, now) {
				last = now
				changed()
			}
		}
	}()
}

func stamps(files []string) map[string]stamp {
	all := make(map[string]stamp, len(files))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			all[file] = stamp{info.Size(), info.ModTime()}
		}
	}
	return all
}

func same(a, b map[string]stamp) bool {
	if len(a) != len(b) {
		return false
	}
	for file, s := range a {
		if other, ok := b[file]; !ok || other.size != s.size || !other.modified.Equal(s.modified) {
			return false
		}
	}
	return true
}
