package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/mcpserve"
)

func (a *app) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools to an MCP client over stdin and stdout",
		Long: `Offer the tools to an MCP client over stdin and stdout.

Changes of agent.hcl take effect at once; a broken one is reported in the log
and the tools stay as they are. The server ends when its input ends.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context()) },
	}
	a.toolsetFlag(c)
	return c
}

func (a *app) serve(ctx context.Context) error {
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	server := mcpserve.New(p.host, mcpserve.Options{Name: "toolhost", Version: version(), Logger: a.logger})
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go p.keepTidy(ctx)
	go watch(ctx, p.configFiles, func() { a.reload(ctx, p, server) })
	go watch(ctx, p.taskFiles, server.Announce)
	return server.ServeStdio(ctx, a.in, a.out)
}

// reload takes over a changed agent.hcl. A broken one changes nothing.
func (a *app) reload(ctx context.Context, p *project, server *mcpserve.Server) {
	if err := p.reload(ctx); err != nil {
		a.logger.ErrorContext(ctx, "the changed agent.hcl is not used; the tools stay as they were", "error", err)
		return
	}
	server.Refresh()
	a.logger.InfoContext(ctx, "agent.hcl was read again")
}

// watchInterval is how often files are looked at for changes.
const watchInterval = 500 * time.Millisecond

// stamp is what tells two states of a file apart.
type stamp struct {
	size     int64
	modified time.Time
}

// watch calls changed after any of the files has changed, come or gone, until
// ctx ends. The files are few, so they are looked at rather than subscribed
// to: that works on every file system and survives every way of saving.
func watch(ctx context.Context, files func() []string, changed func()) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	last := stamps(files())
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
