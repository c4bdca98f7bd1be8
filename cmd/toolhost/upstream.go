package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/mcpclient/oauth"
	"github.com/toolhost/toolhost/host/mcpserve"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/tool"
)

// How long a subcommand waits for the tools of MCP servers that it does not
// know yet. Without a value it starts none: most have nothing to do with them.
const (
	// upstreamMoment is for serve, which tells its clients when more come.
	upstreamMoment = 500 * time.Millisecond
	// upstreamWhole is as long as a start may take, for whoever asks for the
	// list.
	upstreamWhole = time.Hour
)

// addUpstream offers the tools of other MCP servers.
func (p *project) addUpstream(m *parts, cfg *config.Config) error {
	if len(cfg.Servers) == 0 {
		return nil
	}
	patience := p.app.upstream
	if patience == 0 {
		patience = -1
	}
	options := mcpclient.Options{
		Logger: p.app.logger, Version: version(), Dir: p.workspace.Root(), CacheDir: cacheDir("mcp"),
		Patience: patience, Sampling: true, Secrets: cfg.Secrets, Prepare: p.confineUpstream(cfg), Logins: p.usableLogins(cfg),
		OnChange: func(string) {
			select {
			case p.upstream <- struct{}{}:
			default:
			}
		},
	}
	if p.parts != nil && p.parts.upstream != nil {
		m.upstream = p.parts.upstream.Succeed(options)
	} else {
		m.upstream = mcpclient.New(options)
	}
	common := p.commonSettings(cfg)
	for _, spec := range p.upstreamSpecs(cfg) {
		spec.Confinement = string(tool.MustMarshal(confinement{common, &argv.Access{Network: spec.Network, Read: spec.Read, Write: spec.Write}, cfg.Workspace.Allow}))
		if err := m.upstream.Add(spec); err != nil {
			return usage(err)
		}
	}
	for _, source := range m.upstream.Sources() {
		m.sources = append(m.sources, source)
	}
	return nil
}

// upstreamSpecs are the mcp blocks of agent.hcl. A server on this machine is
// told the trees of the workspace when it asks for roots; another has nothing
// to do with them.
func (p *project) upstreamSpecs(cfg *config.Config) []mcpclient.Spec {
	specs := make([]mcpclient.Spec, 0, len(cfg.Servers))
	for _, s := range cfg.Servers {
		if s.Roots == nil && len(s.Command) > 0 {
			s.Roots = append([]string{p.workspace.Root()}, cfg.Workspace.Allow...)
		}
		specs = append(specs, mcpclient.Spec{
			Name: s.Name, Command: s.Command, Env: s.Env, URL: s.URL, Headers: s.Headers,
			Prefix: s.Prefix, Include: s.Include, Exclude: s.Exclude, Risk: s.Risk, Protocol: s.Protocol,
			StartTimeout: s.StartTimeout, CallTimeout: s.Timeout, Roots: s.Roots, OAuth: oauthConfig(s.OAuth),
			Network: s.Access.Network, Read: s.Access.Read, Write: s.Access.Write,
		})
	}
	return specs
}

func oauthConfig(o *config.OAuth) oauth.Config {
	if o == nil {
		return oauth.Config{}
	}
	return oauth.Config{
		Grant: oauth.Grant(o.Grant), ClientID: o.ClientID, ClientSecret: o.ClientSecret, ClientSecretFile: o.ClientSecretFile,
		PrivateKeyFile: o.PrivateKeyFile, AssertionFile: o.AssertionFile,
		ClientMetadataURL: o.ClientMetadataURL, Issuer: o.Issuer, Scopes: o.Scopes, RedirectPort: o.RedirectPort, Private: o.Private,
	}
}

// logins is where the user's logins to MCP servers are kept. A place where
// this project's tools could read them is an error.
func (p *project) logins(cfg *config.Config) (*oauth.Store, error) {
	dir, err := oauth.Dir()
	if err != nil {
		return nil, err
	}
	return oauth.Open(dir, append([]string{p.workspace.Root()}, cfg.Workspace.Allow...)...)
}

// usableLogins is logins, nil where they cannot be kept: toolhost mcp login
// says why.
func (p *project) usableLogins(cfg *config.Config) *oauth.Store {
	store, _ := p.logins(cfg)
	return store
}

// loginFiles are the files whose change tells of a login or of its end.
func (p *project) loginFiles() (files []string) {
	p.mu.Lock()
	cfg := p.config
	p.mu.Unlock()
	store := p.usableLogins(cfg)
	for _, s := range cfg.Servers {
		if s.URL != "" && store != nil {
			files = append(files, store.File(s.URL, oauthConfig(s.OAuth)))
		}
	}
	return files
}

// loggedIn connects to the servers that could not tell their tools before, now
// that there is another login.
func (p *project) loggedIn(ctx context.Context) {
	p.mu.Lock()
	upstream := p.parts.upstream
	p.mu.Unlock()
	if upstream != nil && upstream.Load(ctx) {
		select {
		case p.upstream <- struct{}{}:
		default:
		}
	}
}

// confineUpstream is how the processes of MCP servers are confined: as other
// children, with what the server's block grants. No image holds a server.
func (p *project) confineUpstream(cfg *config.Config) func(*exec.Cmd, mcpclient.Spec) error {
	settings, root, trees := p.confineSettings(cfg), p.workspace.Root(), slices.Clone(cfg.Workspace.Allow)
	if settings.Level == sandbox.Docker {
		settings.Level = sandbox.Auto
	}
	return func(cmd *exec.Cmd, spec mcpclient.Spec) error {
		access := argv.Access{Network: spec.Network, Read: spec.Read, Write: spec.Write}
		return granting(settings, access).Policy(root, trees...).Confine(cmd)
	}
}

// loadFor connects to the MCP servers whose tools are not known when the tool
// that is wanted is nowhere else.
func (p *project) loadFor(ctx context.Context, name string) {
	if _, err := p.host.Catalog().Lookup(name); p.parts.upstream == nil || !errors.Is(err, &tool.Error{Code: tool.NotFound}) {
		return
	}
	if p.parts.upstream.Load(ctx) {
		p.regather(ctx)
	}
}

// regather asks the sources for their tools again.
func (p *project) regather(ctx context.Context) {
	p.swapping.Lock()
	defer p.swapping.Unlock()
	p.mu.Lock()
	now := p.parts
	p.mu.Unlock()
	if err := p.host.Reload(ctx, now.sources, now.toolset); err != nil {
		p.app.logger.ErrorContext(ctx, "the changed tools of an MCP server are not used", "error", err)
	}
}

// followUpstream takes over what MCP servers change in their tools, until ctx
// ends.
func (a *app) followUpstream(ctx context.Context, p *project, server *mcpserve.Server) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.upstream:
			p.regather(ctx)
			server.Refresh()
		}
	}
}

// isUpstream reports whether a source of tools is an MCP server.
func (p *project) isUpstream(source string) bool {
	return p.parts.upstream != nil && slices.ContainsFunc(p.parts.upstream.Sources(), func(s *mcpclient.Source) bool { return s.Name() == source })
}

// upstreamFindings connects to the MCP servers and tells how each is.
func (p *project) upstreamFindings(ctx context.Context) (findings []finding) {
	if p.parts.upstream == nil {
		return nil
	}
	p.parts.upstream.Connect(ctx)
	for _, s := range p.parts.upstream.Status() {
		f := finding{Check: "mcp " + s.Name}
		switch {
		case s.LastError != nil:
			f.Detail, f.Next = harmless(indented(s.LastError.Message)), s.LastError.Suggestion
		default:
			f.OK = s.State == mcpclient.Running
			f.Detail = fmt.Sprintf("%s: %s, protocol %s, %d tools, connected in %s",
				s.State, harmless(strings.TrimSpace(s.Server+" "+s.Version)), s.Protocol, s.Tools, s.StartTook.Round(time.Millisecond))
			if s.Pinned {
				f.Detail += "; it does not cope with the newest protocol"
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// unavailable is why a call of a tool would fail now, where that is known.
func unavailable(e *host.Entry) string {
	if u, ok := e.Tool.(interface{ Unavailable() *tool.Error }); ok {
		if err := u.Unavailable(); err != nil {
			return err.Message
		}
	}
	return ""
}

// listUnavailable tells, once for each source, why its tools would fail now.
func (a *app) listUnavailable(catalog *host.Catalog) {
	told := make(map[string]bool)
	for _, e := range catalog.Entries() {
		if why := unavailable(e); why != "" && !told[e.Source] {
			told[e.Source] = true
			fmt.Fprintf(a.err, "%s %s is unavailable: %s\n", a.painter.yellow("!"), e.Source, harmless(indented(why)))
		}
	}
}
