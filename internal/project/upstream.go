package project

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/store/sources"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

func (p *Project) addUpstream(m *assembly, cfg *config.Config) error {
	if len(cfg.Servers) == 0 {
		return nil
	}
	patience := p.options.Patience
	if patience == 0 {
		patience = -1
	}
	prepare, denied := p.confineUpstream(cfg)
	options := mcpclient.Options{
		Prepare: prepare, Denied: denied,
		Logger: p.options.Logger, Version: p.options.Version, Dir: p.Workspace.Root(), CacheDir: userdir.Cache("mcp"), Pins: m.pins,
		Patience: patience, Sampling: true, Secrets: cfg.Secrets, Logins: p.usableLogins(cfg),
		OnChange: func(string) { // FollowServers reads the tools again
			select {
			case p.upstream <- struct{}{}:
			default:
			}
		},
		Trace: traceOf,
		Said:  func(server, line string) { p.keepLine(sources.Server, server, line) },
		Serving: func(ctx context.Context, server string) (done func()) {
			return p.servingOf(sources.Server, server).Begin(ctx)
		},
	}
	if p.assembly != nil && p.assembly.upstream != nil {
		m.upstream = p.assembly.upstream.Succeed(options)
	} else {
		m.upstream = mcpclient.New(options)
	}
	common := p.commonSettings(cfg)
	for _, spec := range p.upstreamSpecs(cfg) {
		spec.Confinement = string(tool.MustMarshal(confinement{common,
			&argv.Access{Network: spec.Network, Hosts: spec.Hosts, Read: spec.Read, Write: spec.Write}, cfg.Workspace.Allow,
			p.sourceSince(spec.Name), credentialsDigest(common)}))
		if err := m.upstream.Add(spec); err != nil {
			return usage(err)
		}
	}
	for _, source := range m.upstream.Sources() {
		m.sources = append(m.sources, m.foreign(source, source.Offered))
	}
	return nil
}

// upstreamSpecs returns the mcp blocks of agent.hcl. A local server gets the workspace's trees as
// roots; a remote one cannot use them.
func (p *Project) upstreamSpecs(cfg *config.Config) []mcpclient.Spec {
	specs := make([]mcpclient.Spec, 0, len(cfg.Servers))
	for _, s := range cfg.Servers {
		if s.Roots == nil && len(s.Command) > 0 {
			s.Roots = append([]string{p.Workspace.Root()}, cfg.Workspace.Allow...)
		}
		specs = append(specs, mcpclient.Spec{
			Name: s.Name, Command: s.Command, Env: s.Env, URL: s.URL, Headers: s.Headers,
			Prefix: s.Prefix, Include: s.Include, Exclude: s.Exclude, Risk: s.Risk, Protocol: s.Protocol,
			StartTimeout: s.StartTimeout, CallTimeout: s.Timeout, Roots: s.Roots, OAuth: oauthConfig(s.OAuth),
			Network: s.Access.Network, Hosts: s.Access.Hosts, Read: s.Access.Read, Write: s.Access.Write,
			Files: cfg.ApprovedFiles(p.Workspace.Root(), s.Command),
		})
	}
	return specs
}

func oauthConfig(o *config.OAuth) oauth.Config {
	if o == nil {
		return oauth.Config{}
	}
	return oauth.Config{
		Grant: oauth.Grant(o.Grant), ClientID: o.ClientID, ClientSecret: o.ClientSecret,
		ClientSecretFile: o.ClientSecretFile,
		PrivateKeyFile:   o.PrivateKeyFile, AssertionFile: o.AssertionFile,
		ClientMetadataURL: o.ClientMetadataURL, Issuer: o.Issuer, Scopes: o.Scopes, RedirectPort: o.RedirectPort,
		Private: o.Private,
	}
}

// Logins returns the user's logins to MCP servers. It is an error if this project's tools could read them.
func (p *Project) Logins(cfg *config.Config) (*oauth.Store, error) {
	dir, err := oauth.Dir()
	if err != nil {
		return nil, err
	}
	return oauth.Open(dir, append([]string{p.Workspace.Root()}, cfg.Workspace.Allow...)...)
}

// usableLogins is Logins, or nil on error: toolhost mcp login reports it.
func (p *Project) usableLogins(cfg *config.Config) *oauth.Store {
	store, _ := p.Logins(cfg)
	return store
}

// LoginFiles returns the files whose change means a login or logout.
func (p *Project) LoginFiles() (files []string) {
	cfg := p.Config()
	store := sync.OnceValue(func() *oauth.Store { return p.usableLogins(cfg) })
	for _, s := range cfg.Servers {
		if s.URL != "" && store() != nil {
			files = append(files, store().File(s.URL, oauthConfig(s.OAuth)))
		}
	}
	return files
}

// LoadServers connects to MCP servers with unknown tools and adds those tools. It returns when all have
// connected or failed, or after wait, while FollowServers continues. It reports whether there was such
// a server.
func (p *Project) LoadServers(ctx context.Context, wait time.Duration) bool {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	upstream := p.Servers()
	if upstream == nil || !upstream.Load(waiting, "") {
		return false
	}
	p.regather(ctx)
	return true
}

// confineUpstream confines MCP servers' processes like other children, with their block's grants.
func (p *Project) confineUpstream(cfg *config.Config) (prepare func(*exec.Cmd, mcpclient.Spec) error,
	denied func(mcpclient.Spec, string) string) {
	settings, root, trees := p.confineSettings(cfg), p.Workspace.Root(), slices.Clone(cfg.Workspace.Allow)
	policyFor := func(server string, access argv.Access) sandbox.Policy {
		return p.granting(cfg, settings, "mcp", server, access).Policy(root, trees...)
	}
	prepare = func(cmd *exec.Cmd, spec mcpclient.Spec) error {
		access := argv.Access{Network: spec.Network, Hosts: spec.Hosts, Read: spec.Read, Write: spec.Write}
		if err := verified(cfg, access); err != nil {
			return err
		}
		defer p.lifeOf("mcp " + spec.Name).Attach(cmd)()
		defer network.Attach(cmd, p.networkOf(sources.Server, spec.Name))()
		return policyFor(spec.Name, access).Confine(cmd)
	}
	denied = func(spec mcpclient.Spec, printed string) string {
		block := fmt.Sprintf("mcp %q of agent.hcl", spec.Name)
		access := argv.Access{Network: spec.Network, Hosts: spec.Hosts, Read: spec.Read, Write: spec.Write}
		return policyFor(spec.Name, access).Denied(block, printed)
	}
	return prepare, denied
}

// LoadFor connects to MCP servers with unknown tools, and those that once had the wanted tool, if that is not elsewhere
// or was left out.
func (p *Project) LoadFor(ctx context.Context, name string) {
	upstream := p.Servers()
	_, err := p.Host.Catalog().Lookup(name)
	missing := errors.Is(err, &tool.Error{Code: tool.NotFound}) ||
		errors.Is(err, &tool.Error{Code: tool.NeedsConfirmation})
	if upstream == nil || !missing {
		return
	}
	if upstream.Load(ctx, name) {
		p.regather(ctx)
	}
}

// TakeOver lists the sources' tools again, after servers were connected.
func (p *Project) TakeOver(ctx context.Context) { p.regather(ctx) }

func (p *Project) regather(ctx context.Context) {
	p.swapping.Lock()
	defer p.swapping.Unlock()
	now := p.current()
	if err := p.Host.Reload(ctx, now.sources, now.toolset); err != nil {
		p.options.Logger.ErrorContext(ctx, "the changed tools of an MCP server are not used", "error", err)
	}
	p.keepPins()
	p.logLeftOut(ctx, p.options.Logger)
}

// logLeftOut logs which tools are not offered, and, once, warnings about those that are.
func (p *Project) logLeftOut(ctx context.Context, logger *slog.Logger) {
	for _, left := range p.Host.Catalog().LeftOut() {
		logger.WarnContext(ctx, "not offered", "name", left.Name, "source", left.Source, "error", left.Err)
	}
	for _, w := range p.Host.Catalog().Warnings() {
		if _, logged := p.warned.LoadOrStore(w.Err.Message, true); !logged {
			logger.WarnContext(ctx, "not offered as it is declared", "name", w.Name, "source", w.Source, "error", w.Err)
		}
	}
}

// FollowServers applies changes of MCP servers' tools until ctx ends, and calls changed after each.
func (p *Project) FollowServers(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.upstream:
			p.regather(ctx)
			changed()
		}
	}
}

// IsServer reports whether a source is an MCP server.
func (p *Project) IsServer(source string) bool {
	upstream := p.Servers()
	return upstream != nil &&
		slices.ContainsFunc(upstream.Sources(), func(s *mcpclient.Source) bool { return s.Name() == source })
}

// traceOf returns the caller's trace for an upstream server. Baggage is for the caller's own services,
// and is not passed on.
func traceOf(ctx context.Context) map[string]any {
	o := host.OriginOf(ctx)
	if o.TraceParent == "" {
		return nil
	}
	meta := map[string]any{"traceparent": o.TraceParent}
	if o.TraceState != "" {
		meta["tracestate"] = o.TraceState
	}
	return meta
}
