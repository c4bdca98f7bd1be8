package project

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

// FirstList bounds the wait of a server's first list, which many clients read only, though they are
// notified of later tools.
const FirstList = 10 * time.Second

// Serving configures Opening.Offer.
type Serving struct {
	// Search offers three tools instead of the list; see mcpserve.Options.
	Search bool
	// FirstList bounds the wait for MCP servers' tools. Zero means the constant.
	FirstList time.Duration
	// Broken lets the server start with mistakes in agent.hcl.
	Broken bool
	// TaskAfter is when a call becomes a task; see mcpserve.Options.
	TaskAfter time.Duration
	// Name is the server's name for clients. Empty means "toolhost".
	Name string
	// SessionID and Middleware are those of mcpserve.Options. May be nil.
	SessionID  func() string
	Middleware mcp.Middleware
	// NoUndo is that of mcpserve.Options.
	NoUndo bool
	// Unwatched requires the caller to call [Offer.Look]: polling for thousands of servers in one
	// process takes a whole processor.
	Unwatched bool
}

// Offer is a served toolset.
type Offer struct {
	Project *Project
	Server  *mcpserve.Server
	// Settled is closed when no further tools are expected.
	Settled <-chan struct{}

	opening   *Opening
	firstList time.Duration
	status    *fileStatus
	looks     []func()
}

// Offer opens the project for its toolset and follows its changes until ctx ends.
func (o *Opening) Offer(ctx context.Context, serving Serving) (*Offer, error) {
	status := new(fileStatus)
	p, err := o.Open(ctx)
	status.found(o.Standing.Load())
	if wrong, ok := errors.AsType[*MistakesError](err); ok && serving.Broken {
		status.refuse(Summarize(wrong))
		status.broken = true
		p, err = o.openBroken(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.OwnSessions()
	p.Host.Serves()
	settled := make(chan struct{})
	server := mcpserve.New(p.Host, mcpserve.Options{
		Name: cmp.Or(serving.Name, "toolhost"), Version: o.Version, Logger: o.Logger, SessionEnded: p.SessionEnded,
		Search: serving.Search, Instructions: instructions(p, status), KeepQuestion: p.KeepQuestion, Settled: settled,
		SessionID: serving.SessionID, Middleware: serving.Middleware,
		TaskAfter: serving.TaskAfter, Recorded: p.recordedCall, NoUndo: serving.NoUndo,
	})
	offer := &Offer{Project: p, Server: server, Settled: settled, opening: o,
		firstList: cmp.Or(serving.FirstList, FirstList), status: status}
	go func() {
		defer close(settled)
		offer.connectServers(ctx)
	}()
	if _, known := p.Commands(); !known {
		go offer.tasksChanged(ctx)
	}
	go p.KeepTidy(ctx)
	go p.FollowServers(ctx, server.Refresh)
	offer.looks = []func(){
		newPoller(p.ConfigFiles, func() { offer.reload(ctx) }).check,
		newPoller(p.TaskFiles, func() { offer.tasksChanged(ctx) }).check,
		newPoller(p.LoginFiles, func() { go offer.connectServers(ctx) }).check,
		server.ResourceChanges(ctx),
	}
	if !serving.Unwatched {
		for _, again := range offer.looks {
			go every(ctx, again)
		}
	}
	return offer, nil
}

// Look applies changes of the project's files since the last look, and notifies clients.
func (o *Offer) Look() {
	for _, again := range o.looks {
		again()
	}
}

// connectServers starts MCP servers with unknown tools, and logs missing sources and tools for the
// operator. Other commands report them where relevant.
func (o *Offer) connectServers(ctx context.Context) {
	p, logger := o.Project, o.opening.Logger
	loaded := p.LoadServers(ctx, o.firstList)
	for _, problem := range p.Host.Catalog().Problems() {
		logger.WarnContext(ctx, "a source gives no tools", "source", problem.Source, "error", problem.Err)
	}
	if loaded { // LoadServers logged what is left out
		o.Server.Refresh()
		return
	}
	p.logLeftOut(ctx, logger)
}

// reload applies a changed agent.hcl. A broken one changes nothing.
func (o *Offer) reload(ctx context.Context) {
	logger, status := o.opening.Logger, o.status
	err := o.Project.Reload(ctx)
	switch {
	case errors.Is(err, ErrClosed):
	case err != nil:
		logger.ErrorContext(ctx, "what has changed is not used; the tools stay as they were", "error", Summarize(err))
		status.refuse(Summarize(err))
	default:
		status.found(o.opening.Standing.Load())
		o.Server.Refresh()
		go o.connectServers(ctx)
		if reason, next := o.opening.Standing.Load().Explain(); reason != "" {
			logger.WarnContext(ctx, reason, "next", next)
			return
		}
		logger.InfoContext(ctx, "agent.hcl was read again")
	}
}

// tasksChanged handles a new or changed Taskfile, which is read again at each use.
func (o *Offer) tasksChanged(ctx context.Context) {
	if err := o.Project.CheckTasks(ctx); err != nil {
		o.opening.Logger.ErrorContext(ctx, "the Taskfile cannot be used; its commands fail until it is fixed", "error", err)
	}
	o.Server.Announce()
}
