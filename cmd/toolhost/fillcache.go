package main

import (
	"context"
	"fmt"
	"time"
)

// fillWait is how long the servers of a project may take to tell their tools
// when a client is set up.
const fillWait = 30 * time.Second

// fillCache connects once to the MCP servers that the project declares, so that
// the first list that a client gets has their tools. What fails here is told
// where the tools are used.
func (a *app) fillCache() {
	cfg, err := a.loadConfig()
	if err != nil || len(cfg.Servers) == 0 {
		return
	}
	fmt.Fprintln(a.err, a.painter.dim("asking the MCP servers of agent.hcl for their tools ..."))
	ctx, cancel := context.WithTimeout(context.Background(), fillWait)
	defer cancel()
	opening := *a
	opening.patience = fillWait
	p, err := opening.open(ctx)
	if err != nil {
		return
	}
	defer p.Close()
	if servers := p.Servers(); servers != nil {
		servers.Load(ctx)
		p.TakeOver(ctx)
	}
}
