package project

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/store/sources"
)

// ErrClosed is the error of Reload on a closed project.
var ErrClosed = errors.New("the project is closed")

// Reload reads agent.hcl again and replaces the tools. On an error they stay, and toolhost doctor
// reports why while the project is open.
func (p *Project) Reload(ctx context.Context) error {
	err := p.reload(ctx)
	switch {
	case err == nil:
		p.forgetRefused(ctx)
	case p.life.Err() != nil:
		return ErrClosed
	default:
		p.noteRefused(ctx, err)
	}
	return err
}

// reload is Reload without the note for doctor. Plugins and MCP servers that are declared as before continue.
func (p *Project) reload(ctx context.Context) error {
	p.swapping.Lock()
	defer p.swapping.Unlock()
	if err := p.life.Err(); err != nil {
		return err
	}
	cfg, err := p.options.Reread()
	if err != nil {
		return err
	}
	cfg = withExistingTrees(cfg, p.options.Logger)
	p.Host.Redact(cfg.Secrets)
	p.Recorder.Redact(cfg.Secrets)
	p.options.OnSecrets(p.Recorder.Redactor())
	rules, err := p.openPolicy(cfg)
	if err != nil {
		return err
	}
	next, err := p.assemble(cfg, rules)
	if err != nil {
		return err
	}
	if err := p.swap(ctx, next); err != nil {
		next.close()
		return err
	}
	p.enforce(rules, cfg)
	p.Host.SetTimeout(cfg.Limits.Timeout)
	p.Host.SetOutput(cfg.Limits.Output)
	p.Recorder.Bound(limitsOf(cfg))
	p.mu.Lock()
	old := p.assembly
	p.config, p.assembly = cfg, next
	p.mu.Unlock()
	p.keepPins()
	p.retire(old, next)
	return nil
}

// swap offers the next assembly's tools. Changed plugins and servers in use must start.
func (p *Project) swap(ctx context.Context, next *assembly) error {
	if err := next.manager.TryChanged(ctx); err != nil {
		return err
	}
	if next.upstream != nil {
		if err := next.upstream.TryChanged(ctx); err != nil {
			return err
		}
	}
	return p.Host.Reload(ctx, next.sources, next.toolset)
}

// retirement is how long calls may continue with replaced tools.
const retirement = 15 * time.Minute

// retire closes a replaced assembly. What the next one shares continues; other plugins and servers end
// when no call uses them.
func (p *Project) retire(old, next *assembly) {
	ctx, cancel := context.WithTimeout(p.life, retirement)
	var ending sync.WaitGroup
	end := func(source string, remove func()) {
		ending.Go(func() {
			_ = p.Host.Settle(ctx, source)
			remove()
		})
	}
	for _, name := range old.manager.HandOver(next.manager) {
		end("plugin "+name, func() { old.manager.Remove(name) })
	}
	ending.Go(func() { _ = p.Host.Settle(ctx, "builtin", "command", "taskfile") })
	if old.upstream != nil {
		for _, name := range old.upstream.HandOver(next.upstream) {
			end("mcp "+name, func() { old.upstream.Remove(name) })
		}
	}
	p.retiring.Go(func() {
		ending.Wait()
		cancel()
		old.close()
	})
}

// ConfigFiles returns the files whose change requires a reload: those that decide about agent.hcl, its
// lock, its plugins, and restart requests.
func (p *Project) ConfigFiles() []string {
	cfg := p.Config()
	var files []string
	if p.options.ConfigFiles != nil {
		files = slices.Clone(p.options.ConfigFiles())
	}
	if cfg.Path != "" {
		files = append(files, filepath.Join(cfg.Dir, "agent.lock.hcl"))
	}
	if p.sources.State != "" {
		for _, server := range cfg.Servers {
			files = append(files, p.sources.File(sources.Server, server.Name))
		}
	}
	for _, plugin := range cfg.Plugins {
		if p.sources.State != "" {
			files = append(files, p.sources.File(sources.Plugin, plugin.Name))
		}
		if filepath.IsAbs(plugin.Source) {
			files = append(files, plugin.Source)
		}
	}
	return files
}
