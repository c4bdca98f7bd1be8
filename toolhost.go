// Package toolhost gives a program the tools of a project, as its agent.hcl
// declares them, with all that the program toolhost has: plugins, other MCP
// servers, policy, approval, the sandbox, the record. The rules are the same:
// an agent.hcl that its user has not approved only restricts, and a call that
// needs a person's word waits for it.
//
// To offer tools of one's own without an agent.hcl there is package host.
package toolhost

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/project/agentfile"
)

// Main has to be called first in main. Toolhost re-executes the program for
// parts of its work, as a process of their own: the toolsets cliagent,
// agentbench, clemini and ocode. In such a process Main does that work and does not return; in any other it does
// nothing. In a program that does not call it, those toolsets fail and say so,
// and all else works. Tests call it in TestMain.
func Main() {
	if code, ok := project.Reexec(os.Args[1:]); ok {
		os.Exit(code)
	}
}

// Options say which project is opened. The zero value opens that of the working
// directory, as the command toolhost serve does there.
type Options struct {
	// Workspace is the directory that tools work in, in place of the one that
	// agent.hcl names; the search for agent.hcl begins there.
	Workspace string
	// Config is the agent.hcl to use. A file that is named counts as approved, as
	// with --config: name only one that the user has chosen. Empty looks for one,
	// which counts as far as the user has approved it with toolhost trust.
	Config string
	// Trust has an agent.hcl that is found count as approved, as --trust.
	Trust bool
	// Vars are values of the variables of agent.hcl.
	Vars map[string]string
	// Toolset is the toolset to offer. Empty offers all tools.
	Toolset string
	// Artifacts is the directory for the record. Empty keeps it where toolhost
	// does.
	Artifacts string
	// SearchTools offers MCP clients, in place of the list of tools, three by which
	// they are found, described and called.
	SearchTools bool
	// Name introduces the program to MCP clients. Empty is "toolhost".
	Name string
	// Logger receives what operators may want to know, without the project's
	// secrets. Nil discards.
	Logger *slog.Logger
}

// Toolhost is an open project. It follows changes of its agent.hcl until it is
// closed. Its methods are safe for use by several goroutines.
type Toolhost struct {
	offer     *project.Offer
	further   *project.Offers
	telemetry *telemetry.Relay
	logger    *slog.Logger
	end       context.CancelFunc

	mu    sync.Mutex
	faces []*mcpserve.HTTP
}

// Open opens a project. Plugins start when they are first used, MCP servers
// whose tools are not known yet at once. Mistakes in agent.hcl are an error that
// shows them with their lines. The Toolhost outlives ctx.
func Open(ctx context.Context, o Options) (*Toolhost, error) {
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	secrets := new(project.LogSecrets)
	t := &Toolhost{logger: slog.New(secrets.Handler(logger.Handler()))}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	t.end = end
	opening := &project.Opening{
		Location: project.Location{Workspace: o.Workspace, File: o.Config, Trust: o.Trust, Vars: o.Vars},
		Toolset:  o.Toolset, Artifacts: o.Artifacts, Version: buildinfo.Read().Version,
		Logger: t.logger, LogSecrets: secrets, Standing: new(atomic.Pointer[agentfile.Standing]),
		Telemetry: func(root string) *telemetry.Relay {
			if t.telemetry == nil {
				t.telemetry = project.StartTelemetry(life, root, t.logger)
			}
			return t.telemetry
		},
	}
	serving := project.Serving{Search: o.SearchTools, Name: o.Name}
	var err error
	if t.offer, err = opening.Offer(life, serving); err != nil {
		end()
		t.telemetry.Close(ctx)
		return nil, fmt.Errorf("toolhost: %w", err)
	}
	t.further = t.offer.Further(life, serving)
	return t, nil
}

// Host is the host of the project's tools. Host.Session(name).Call calls one;
// calls of one session share state and a record.
func (t *Toolhost) Host() *host.Host { return t.offer.Project.Host }

// Tools are the definitions of the tools that are offered now. It waits for MCP
// servers whose tools are not known yet, ten seconds at most.
func (t *Toolhost) Tools(ctx context.Context) ([]*tool.Definition, error) {
	select {
	case <-t.offer.Settled:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var all []*tool.Definition
	for _, entry := range t.Host().Catalog().Entries() {
		all = append(all, entry.Definition())
	}
	return all, nil
}

// ServeStdio serves one MCP client until in ends or ctx is done. When it
// returns, every call of the client has ended. It may be called again.
func (t *Toolhost) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return t.offer.Server.ServeStdio(ctx, in, out)
}

// HTTPOptions say who may use the tools over HTTP.
type HTTPOptions struct {
	// Token has to come with every request as a bearer token. It is one word of
	// at least 16 characters.
	Token string
	// NoToken, in place of a token, serves every program on this machine, of other
	// users too. Requests from other machines are refused then.
	NoToken bool
	// Hosts are names that the Host header may have besides those of this machine.
	Hosts []string
	// Origins are the web origins whose pages may use the tools.
	Origins []string
}

// HTTPHandler serves MCP clients at the path under which it is mounted. Under a
// pattern that ends with {toolset} it also serves the toolsets of agent.hcl.
func (t *Toolhost) HTTPHandler(o HTTPOptions) (http.Handler, error) {
	if o.NoToken == (o.Token != "") || o.Token != "" && !mcpserve.IsToken(o.Token) {
		return nil, fmt.Errorf("toolhost: set HTTPOptions.Token to one word of at least %d plain characters, or NoToken",
			mcpserve.MinToken)
	}
	face := mcpserve.NewHTTP(t.offer.Server, mcpserve.HTTPOptions{Toolset: t.further.Get, Token: o.Token,
		Hosts: o.Hosts, Origins: o.Origins, Logger: t.logger})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faces = append(t.faces, face)
	if o.Token != "" {
		return face, nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if !ok || !mcpserve.IsLocal(local) {
			http.Error(w, "other machines reach this address, so it needs a token: set HTTPOptions.Token",
				http.StatusForbidden)
			return
		}
		face.ServeHTTP(w, r)
	}), nil
}

// Close ends all that the project has started. Calls that are under way are
// cancelled.
func (t *Toolhost) Close() error {
	t.mu.Lock()
	faces := t.faces
	t.faces = nil
	t.mu.Unlock()
	for _, face := range faces {
		face.Close()
	}
	t.end()
	t.further.Close()
	t.telemetry.Close(context.Background())
	return nil
}
