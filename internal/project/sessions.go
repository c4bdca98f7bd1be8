package project

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/internal/run/background"
)

// Tasks are the background tasks of the project's workspace.
func (p *Project) Tasks() *background.Store {
	dir := ""
	if p.stateDir != "" {
		dir = filepath.Join(p.stateDir, background.DirName)
	}
	return background.Open(dir, background.Options{Root: p.Workspace.Root()})
}

// owners are the sessions whose background tasks end with this process.
type owners struct {
	store *background.Store

	mu       sync.Mutex
	sessions map[string]*background.Owner
}

// OwnSessions makes the background tasks of the sessions that are served from
// now on end with their session.
func (p *Project) OwnSessions() {
	p.owners = &owners{store: p.Tasks(), sessions: make(map[string]*background.Owner)}
}

// own takes over a session at its first call. It does nothing on nil owners.
func (o *owners) own(session string) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sessions[session] != nil {
		return nil
	}
	owner, err := o.store.Own(session)
	if err != nil {
		return err
	}
	o.sessions[session] = owner
	return nil
}

// end ends the tasks of a session.
func (o *owners) end(session string) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	owner := o.sessions[session]
	delete(o.sessions, session)
	o.mu.Unlock()
	if owner == nil {
		return nil
	}
	_, err := owner.End(context.Background())
	return err
}

// has reports whether the tasks of a session end with this process.
func (o *owners) has(session string) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sessions[session] != nil
}

// RunningTasks counts the background tasks that run of the sessions that are served.
func (p *Project) RunningTasks() int {
	running, err := p.Tasks().Running(p.owners.has)
	if err != nil {
		return 0
	}
	return len(running)
}

// EndTasks ends the background tasks of the sessions that are served, and keeps why.
func (p *Project) EndTasks(ctx context.Context, reason string) error {
	return p.Tasks().EndAll(ctx, p.owners.has, reason)
}

// endAll ends the tasks of all sessions that were owned.
func (o *owners) endAll() {
	if o == nil {
		return
	}
	o.mu.Lock()
	all := o.sessions
	o.sessions = nil
	o.mu.Unlock()
	var ending sync.WaitGroup
	for _, owner := range all {
		ending.Go(func() { _, _ = owner.End(context.Background()) })
	}
	ending.Wait()
}

// sessionFacts are what the record keeps of the beginning of a session.
type sessionFacts struct {
	Toolset string `json:"toolset"`
	Config  string `json:"config,omitempty"`
}

// sessionBegun has the record say that a session began, at its first call. Only
// sessions that are served have a beginning and an end.
func (p *Project) sessionBegun(name string) {
	if p.owners == nil {
		return
	}
	err := p.Recorder.Begin(name, sessionFacts{p.Host.Catalog().Toolset().Name, p.Config().SHA256})
	if err != nil {
		p.options.Logger.Debug("the beginning of a session was not recorded", "error", err) // the host warns
	}
}

// SessionEnded releases what was kept for a session.
func (p *Project) SessionEnded(name string) {
	if err := p.owners.end(name); err != nil {
		p.options.Logger.Warn("the background tasks of a session were not all ended", "session", name, "error", err)
	}
	if err := p.Recorder.End(name); err != nil {
		p.options.Logger.Warn("the record of a session was not closed", "session", name, "error", err)
	}
	if err := p.store.EndSession(context.Background(), name); err != nil {
		p.options.Logger.Warn("the state of a session was not dropped", "session", name, "error", err)
	}
}
