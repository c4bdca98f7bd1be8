// Package toolhost gives a program a project's tools, as its agent.hcl declares
// them, with everything that the program toolhost has: plugins, other MCP
// servers, policy, approval, the sandbox, the record. The rules are the same:
// an agent.hcl that its user has not approved only restricts, and a call that
// needs approval waits for it.
//
// Package host offers a program's own tools without an agent.hcl.
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

// Main must be called first in main. Toolhost re-executes the program, as separate processes, for the toolsets
// cliagent, agentbench, clemini and ocode. In such a process Main does that work and does not return; in any
// other it does nothing. In a program that does not call it, those toolsets fail with an error that says so; the
// others work. Tests call it in TestMain.
func Main() {
	if code, ok := project.Reexec(os.Args[1:]); ok {
		os.Exit(code)
	}
}

// Options say which project to open. The zero value opens that of the working
// directory, as the command toolhost serve does there.
type Options struct {
	// Workspace is the directory that tools work in, instead of the one that
	// agent.hcl names; the search for agent.hcl starts there.
	Workspace string
	// Config is the agent.hcl to use. A named file counts as approved, as with
	// --config: name only one that the user has chosen. Empty searches for one,
	// which counts as far as the user has approved it with toolhost trust.
	Config string
	// Trust makes an agent.hcl that is found count as approved, as --trust does.
	Trust bool
	// Vars are values of agent.hcl's variables.
	Vars map[string]string
	// Toolset is the toolset to offer. Empty offers all tools.
	Toolset string
	// Artifacts is the directory for the record. Empty keeps it where toolhost does.
	Artifacts string
	// SearchTools offers MCP clients, instead of the list of tools, three tools
	// that find, describe and call them.
	SearchTools bool
	// Name is the program's name for MCP clients. Empty is "toolhost".
	Name string
	// Logger receives events for operators, without the project's secrets. Nil discards them.
	Logger *slog.Logger
}

// Toolhost is an open project. It follows changes of its agent.hcl until
// closed. Its methods are safe for concurrent use.
type Toolhost struct {
	offer     *project.Offer
	further   *project.Offers
	telemetry *telemetry.Relay
	logger    *slog.Logger
	end       context.CancelFunc

	mu    sync.Mutex
	faces []*mcpserve.HTTP
}

// Open opens a project. Plugins start when first used, MCP servers whose tools
// are not yet known at once. Mistakes in agent.hcl are an error that shows them
// with their lines. The Toolhost outlives ctx.
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

// Host returns the host of the project's tools. Host.Session(name).Call calls
// one; calls of one session share state and a record.
func (t *Toolhost) Host() *host.Host { return t.offer.Project.Host }

// Tools returns the definitions of the tools offered now. It waits up to ten
// seconds for MCP servers whose tools are not yet known.
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
// returns, all calls of the client have ended. It may be called again.
func (t *Toolhost) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return t.offer.Server.ServeStdio(ctx, in, out)
}

// HTTPOptions say who may use the tools over HTTP.
type HTTPOptions struct {
	// Token must come with every request as a bearer token. It is one word of
	// at least 16 characters.
	Token string
	// NoToken, instead of a token, serves every program on this machine, also
	// other users'. Requests from other machines are then refused.
	NoToken bool
	// Hosts are allowed Host headers besides this machine's names.
	Hosts []string
	// Origins are the web origins whose pages may use the tools.
	Origins []string
}

// HTTPHandler serves MCP clients at the path where it is mounted. With a
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

// Close ends everything that the project has started. Calls in progress are cancelled.
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
