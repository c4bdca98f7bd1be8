package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/mcpserve"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/tool"
)

// reload takes over a changed agent.hcl. A broken one changes nothing; doctor
// tells why, as long as this server runs and the file is broken.
func (a *app) reload(ctx context.Context, p *project, server *mcpserve.Server) {
	if err := p.reload(ctx); err != nil {
		if p.life.Err() != nil {
			return
		}
		a.logger.ErrorContext(ctx, "what has changed is not used; the tools stay as they were", "error", err)
		p.noteRefused(ctx, err)
		return
	}
	p.forgetRefused(ctx)
	p.warnOfProblems(ctx)
	server.Refresh()
	a.logger.InfoContext(ctx, "agent.hcl was read again")
}

// tasksChanged takes note of a changed Taskfile, which is read afresh whenever
// it is used.
func (a *app) tasksChanged(ctx context.Context, p *project, server *mcpserve.Server) {
	if err := p.checkTasks(ctx); err != nil {
		a.logger.ErrorContext(ctx, "the changed Taskfile cannot be used; its commands fail until it is mended", "error", err)
	}
	server.Announce()
}

// checkTasks says what is wrong with the Taskfile.
func (p *project) checkTasks(ctx context.Context) error {
	p.mu.Lock()
	tasks := p.parts.tasks
	p.mu.Unlock()
	if tasks == nil {
		return nil
	}
	return tasks.Check(ctx)
}

// reload reads agent.hcl again and swaps the tools. An error leaves them.
// Plugins and MCP servers that are declared as before go on as they are.
func (p *project) reload(ctx context.Context) error {
	p.swapping.Lock()
	defer p.swapping.Unlock()
	if err := p.life.Err(); err != nil {
		return err
	}
	cfg, err := p.app.loadConfigAgain()
	if err != nil {
		return err
	}
	p.keepSecret(cfg.Secrets)
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
	p.host.SetTimeout(cfg.Limits.Timeout)
	p.mu.Lock()
	old := p.parts
	p.config, p.parts = cfg, next
	p.mu.Unlock()
	p.retire(old, next)
	return nil
}

// swap offers the tools of other parts. What is in use and was changed has to
// work for that.
func (p *project) swap(ctx context.Context, next *parts) error {
	if err := next.manager.TryChanged(ctx); err != nil {
		return err
	}
	if next.upstream != nil {
		if err := next.upstream.TryChanged(ctx); err != nil {
			return err
		}
	}
	return p.host.Reload(ctx, next.sources, next.toolset)
}

// loadConfigAgain is loadConfig whose error holds the mistakes that were
// shown.
func (a *app) loadConfigAgain() (*config.Config, error) {
	var said strings.Builder
	telling := *a
	telling.err, telling.painter = io.MultiWriter(a.err, &said), false
	cfg, err := telling.loadConfig()
	if err != nil && said.Len() > 0 {
		err = fmt.Errorf("%s", strings.TrimSpace(said.String()))
	}
	return cfg, err
}

// retirement is how long calls may go on with tools that have been replaced.
const retirement = 15 * time.Minute

// retire closes parts that have been replaced. What the next ones have too
// goes on; each plugin and server of the others ends when no call uses it.
func (p *project) retire(old, next *parts) {
	ctx, cancel := context.WithTimeout(p.life, retirement)
	var ending sync.WaitGroup
	end := func(source string, remove func()) {
		ending.Go(func() {
			_ = p.host.Settle(ctx, source)
			remove()
		})
	}
	for _, name := range old.manager.HandOver(next.manager) {
		end("plugin "+name, func() { old.manager.Remove(name) })
	}
	ending.Go(func() { _ = p.host.Settle(ctx, "builtin", "command", "taskfile") })
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

// configFiles are the files whose change makes a reload worth it: agent.hcl,
// and the plugins that it names.
func (p *project) configFiles() []string {
	dir := p.workspace.Root()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config.Path == "" {
		return []string{filepath.Join(dir, "agent.hcl"), filepath.Join(dir, "agent.hcl.json")}
	}
	files := []string{p.config.Path, filepath.Join(p.config.Dir, "agent.lock.hcl")}
	for _, plugin := range p.config.Plugins {
		if filepath.IsAbs(plugin.Source) {
			files = append(files, plugin.Source)
		}
	}
	return files
}

// refused is a change that a running server did not take over.
type refused struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Toolset string    `json:"toolset,omitempty"`
	Reason  string    `json:"reason"`
}

// refusals is where servers tell doctor of them.
func refusals(store *state.Store) tool.State {
	return store.Scope("toolhost serve", tool.PersistentScope, "")
}

func (p *project) refusalKey() string {
	return fmt.Sprintf("refused/%d/%s", os.Getpid(), p.app.flags.toolset)
}

func (p *project) noteRefused(ctx context.Context, reason error) {
	value := tool.MustMarshal(refused{os.Getpid(), time.Now().UTC(), p.app.flags.toolset, reason.Error()})
	if err := refusals(p.store).Set(ctx, p.refusalKey(), value); err != nil {
		p.app.logger.WarnContext(ctx, "doctor will not know of it", "error", err)
		return
	}
	p.toldRefused.Store(true)
}

func (p *project) forgetRefused(ctx context.Context) {
	if p.toldRefused.Swap(false) {
		_ = refusals(p.store).Delete(ctx, p.refusalKey())
	}
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// refusalFindings tells of servers that run with tools from before a change
// that they could not take over.
func refusalFindings(ctx context.Context, root string) (findings []finding) {
	path, err := filepath.Abs(filepath.Join(root, ".agent", "state.db"))
	if err != nil || !isThere(path) {
		return nil
	}
	store, err := state.Open(path)
	if err != nil {
		return nil
	}
	defer store.Close()
	kept := refusals(store)
	keys, _ := kept.Keys(ctx, "refused/")
	for _, key := range keys {
		var r refused
		value, ok, err := kept.Get(ctx, key)
		if err != nil || !ok || json.Unmarshal(value, &r) != nil || !running(r.PID) {
			_ = kept.Delete(ctx, key) // it has ended without a word
			continue
		}
		findings = append(findings, finding{
			Check:  "serve",
			Detail: fmt.Sprintf("the server with process id %d still offers the tools of before %s: %s", r.PID, r.Since.Local().Format(time.DateTime), harmless(indented(r.Reason))),
			Next:   "Mend it; the server takes the next change of agent.hcl or of a plugin's program over by itself.",
		})
	}
	return findings
}
