package plugins

import (
	"context"
	"reflect"
	"sync"

	"github.com/toolhost/toolhost/plugins/sdk"
)

// Succeed makes the manager that is to take m's place, with plugins that are
// added to it anew. One whose spec and program are those of a plugin of m, in
// the same workspace, is that very plugin: its process goes on, with its calls
// and all that it holds. A plugin ends with the last manager that has it, so
// both managers are closed in the end, whichever is used; see HandOver.
func (m *Manager) Succeed(options Options) *Manager {
	next := NewManager(options)
	next.plugins.Follow(&m.plugins)
	next.shared = m.shared
	next.shared.use()
	return next
}

// TryChanged starts, at the same time, those plugins that take the place of
// one which runs under the same name in the manager before, and gives the
// first error in the order in which they were added: a *tool.Error.
func (m *Manager) TryChanged(ctx context.Context) error {
	return m.plugins.TryChanged((*plugin).runs, func(p *plugin) error { return p.start(ctx) })
}

// HandOver ends the succession: m forgets the plugins that next has too, which
// may be nil. It gives the names of those that are left, which were changed or
// taken out: they run on for the calls they have until Remove or Close.
func (m *Manager) HandOver(next *Manager) (left []string) {
	if next == nil {
		return m.plugins.HandOver(nil)
	}
	return m.plugins.HandOver(&next.plugins)
}

// is reports whether the plugin is the one that spec declares in a workspace,
// with the program as it is now. The functions ResolveConfig cannot be
// compared; Config tells them apart.
func (p *plugin) is(spec Spec, workspace sdk.Workspace) bool {
	known := p.spec
	known.ResolveConfig, spec.ResolveConfig = nil, nil
	return reflect.DeepEqual(p.manager.options.Workspace, workspace) && reflect.DeepEqual(known, spec) && p.programUnchanged()
}

// programUnchanged reports whether the program is the one that was started
// last. One that never was is looked at when it is.
func (p *plugin) programUnchanged() bool {
	if _, attached := p.attachment(); attached || p.spec.Shipped {
		return true
	}
	now := p.programIdentity()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts == 0 || p.launched == now && now != (identity{})
}

// runs reports whether the process is there.
func (p *plugin) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current != nil && p.current.isReady()
}

// start has the process run.
func (p *plugin) start(ctx context.Context) error {
	in, err := p.acquire(ctx)
	if err == nil {
		p.done(in)
	}
	return err
}

// shared is what managers have in common that follow one another.
type shared struct {
	sockets *socketDir
	cache   *schemaCache

	mu    sync.Mutex
	users int
}

func (s *shared) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

// leave is the end of a use; after the last the sockets' directory goes.
func (s *shared) leave() error {
	s.cache.index.save()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	return s.sockets.remove()
}
