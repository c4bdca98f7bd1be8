package project

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/session"
)

// Tasks returns the workspace's background tasks.
func (p *Project) Tasks() *background.Store {
	dir := ""
	if p.stateDir != "" {
		dir = filepath.Join(p.stateDir, background.DirName)
	}
	return background.Open(dir, background.Options{})
}

// OwnSessions records beginning and end of the sessions served from now on.
func (p *Project) OwnSessions() { p.serves = true }

// RunningTasks counts the running background tasks that were started from here.
func (p *Project) RunningTasks() int {
	running, err := p.Tasks().Running((*background.Task).Ours)
	if err != nil {
		return 0
	}
	return len(running)
}

// EndTasks ends the background tasks that were started from here, and records the reason.
func (p *Project) EndTasks(ctx context.Context, reason string) error {
	_, err := p.Tasks().EndAll(ctx, (*background.Task).Ours, reason)
	return err
}

// startsTasks reports whether the tools can start background tasks.
func (p *Project) startsTasks() bool {
	if p.Host == nil || p.Host.Catalog() == nil { // opening failed
		return false
	}
	return builtinToolset(p.Host.Catalog().Toolset().Name).StartsTasks
}

// closeTasks ends the running background shells: they are children of processes that Close ends.
func (p *Project) closeTasks() {
	if !p.startsTasks() {
		return
	}
	shells := func(t *background.Task) bool { return t.Ours() && t.Kind == session.ShellKind }
	_, err := p.Tasks().EndAll(context.Background(), shells, "toolhost ended")
	ended, others := p.Tasks().EndAll(context.Background(), (*background.Task).Ours, "toolhost ended")
	err = errors.Join(err, others)
	if err != nil {
		p.options.Logger.Warn("background tasks were not all ended", "error", err)
	}
	if ended > 0 && !p.serves {
		p.options.Logger.Warn("background tasks end with the command that started them; they last in a session of "+
			"`toolhost serve`", "ended", ended)
	}
}

// sessionFacts are recorded at a session's beginning.
type sessionFacts struct {
	Toolset string `json:"toolset"`
	Config  string `json:"config,omitempty"`
}

// sessionBegun records the beginning of a served session, at its first call.
func (p *Project) sessionBegun(name string) {
	if !p.serves {
		return
	}
	err := p.Recorder.Begin(name, sessionFacts{p.Host.Catalog().Toolset().Name, p.Config().SHA256})
	if err != nil {
		p.options.Logger.Debug("the beginning of a session was not recorded", "error", err) // the host warns
	}
}

// SessionEnded releases a session's state.
func (p *Project) SessionEnded(name string) {
	if p.startsTasks() {
		mine := func(t *background.Task) bool { return t.Session == name && t.Ours() }
		if _, err := p.Tasks().EndAll(context.Background(), mine, "its session ended"); err != nil {
			p.options.Logger.Warn("the background tasks of a session were not all ended", "session", name, "error", err)
		}
	}
	if err := p.Recorder.End(name); err != nil {
		p.options.Logger.Warn("the record of a session was not closed", "session", name, "error", err)
	}
	if err := p.store.EndSession(context.Background(), name); err != nil {
		p.options.Logger.Warn("the state of a session was not dropped", "session", name, "error", err)
	}
}
