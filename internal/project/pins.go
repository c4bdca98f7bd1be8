package project

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/source/pluginlock"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// pinsPlace returns where foreign tools' definitions are stored: for the user, starting from
// agent.lock.hcl. That file comes with the repository, so a change of it approves nothing.
func (p *Project) pinsPlace(cfg *config.Config) pins.Place {
	place := pins.Place{Texts: userdir.Cache("definitions"), Seed: make(map[string]map[string]string)}
	if dir, err := pins.Dir(cfg.Path, append([]string{p.Workspace.Root()}, cfg.Workspace.Allow...)...); err == nil {
		place.Dir = dir
	}
	lock, _ := config.ReadLock(config.LockPath(cfg.Path)) // mistakes are reported when plugins need it
	for _, t := range lock.Tools {
		place.Seed[t.Source] = t.SHA256
	}
	return place
}

// openPins returns nil if nothing is foreign.
func (p *Project) openPins(cfg *config.Config) *pins.Store {
	if len(cfg.Plugins)+len(cfg.Servers) == 0 {
		return nil
	}
	s := pins.Open(p.pinsPlace(cfg))
	if err := s.Adopt(); err != nil {
		p.options.Logger.Warn("what agent.lock.hcl says of tools cannot be kept for the user", "error", err)
	}
	return s
}

// claim maps a source's tools to their offered names; "" if not offered.
type claim struct {
	source  string
	offered func(own string) string
}

// foreign wraps a foreign source, whose tools are pinned. offered maps a tool's own name to the offered
// one. A name stays with the first source that had it, in the order of agent.hcl: policy goes by names,
// and another source must not inherit what was allowed.
func (m *assembly) foreign(source host.Source, offered func(own string) string) host.Source {
	if m.pins == nil {
		return host.Foreign(source, nil)
	}
	before := slices.Clone(m.claims)
	m.claims = append(m.claims, claim{source.Name(), offered})
	return host.Foreign(source, func(t tool.Tool) *tool.Error {
		if err := m.claimed(source.Name(), t, offered, before); err != nil {
			return err
		}
		name, said := t.Definition().Name, any(t.Definition())
		if d, ok := t.(interface{ Declared() (string, any) }); ok {
			name, said = d.Declared()
		}
		return m.pins.Admit(source.Name(), name, pins.Definition(said))
	})
}

// claimed returns the error for a tool whose name belongs to another source, even if not offered now.
func (m *assembly) claimed(source string, t tool.Tool, offered func(string) string, before []claim) *tool.Error {
	own := t.Definition().Name
	if d, ok := t.(interface{ Declared() (string, any) }); ok {
		own, _ = d.Declared()
	}
	name := offered(own)
	for _, c := range before {
		has := func(other string) bool { return c.offered(other) == name }
		if slices.ContainsFunc(m.pins.Names(c.source), has) {
			return tool.Errorf(tool.Conflict, "the tool %q of %s is left out: the name is that of a tool of %s, which does not "+
				"offer it now", name, source, c.source).
				Suggest("In agent.hcl set prefix in the block of %s; rules for the name are about the tool of %s.", source, c.source)
		}
	}
	return nil
}

// keepPins stores definitions at their first use, and writes them into agent.lock.hcl for others in the
// project.
func (p *Project) keepPins() {
	s, ctx := p.current().pins, context.Background()
	var servers []*mcpclient.Source
	if upstream := p.Servers(); upstream != nil && s != nil {
		servers = upstream.Sources()
	}
	for _, server := range servers {
		for name, said := range server.Listed() { // including those not offered now
			s.Learn(server.Name(), name, pins.Definition(said))
		}
	}
	fresh, err := s.Keep()
	if err != nil {
		p.options.Logger.WarnContext(ctx, "what the tools of plugins and MCP servers say cannot be kept for the user",
			"error", err)
	}
	if len(fresh) == 0 {
		return
	}
	if err := addPins(p.lockPath(), fresh); err != nil {
		p.options.Logger.WarnContext(ctx,
			"what the tools of plugins and MCP servers say was not written into agent.lock.hcl", "error", err)
	}
}

func addPins(path string, list []pins.Pin) error {
	lock, diags := config.ReadLock(path)
	if diags.HasErrors() {
		return diags.Err()
	}
	for _, p := range list {
		lock.Pin(p.Source, p.Name, p.SHA256)
	}
	return pluginlock.Save(path, lock)
}

// ChangedTools returns the tools left out because their definition changed.
func (p *Project) ChangedTools() []pins.Change { return p.current().pins.Changes() }

// ApproveTools pins the tools' current definitions: for the user, and in agent.lock.hcl if writable.
func (p *Project) ApproveTools(list []pins.Change) error {
	if len(list) == 0 {
		return nil
	}
	approved := make([]pins.Pin, len(list))
	for i, c := range list {
		approved[i] = pins.Pin{Source: c.Source, Name: c.Name, SHA256: c.SHA256}
	}
	s := p.current().pins
	err, failed := s.Approve(list), addPins(p.lockPath(), approved)
	if s.Place().Dir == "" { // the lock file is the only place
		return failed
	}
	if failed != nil {
		p.options.Logger.Warn("the approval holds only for you, and in servers that start from now on: "+
			"agent.lock.hcl was not written", "error", failed)
	}
	return err
}

func (p *Project) lockPath() string { return config.LockPath(p.Config().Path) }
