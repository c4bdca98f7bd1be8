package plugins

import (
	"context"
	"reflect"
	"sync"

	"github.com/toolhost/toolhost/plugins/sdk"
)

// Succeed makes the manager that is to take m's place after a change of the
// configuration. Plugins are added to it as to any other. One with the same
// spec, program and workspace as a plugin of m is that very plugin: its process
// runs on, with its calls and its state. A plugin ends with the last manager
// that has it, so both managers have to be closed; see HandOver.
func (m *Manager) Succeed(options Options) *Manager {
	next := NewManager(options)
	next.plugins.Follow(&m.plugins)
	next.shared = m.shared
	next.shared.use()
	return next
}

// TryChanged starts, concurrently, the plugins that replace a running plugin of
// the same name in the manager before. It returns the first error, a
// *tool.Error, in the order in which the plugins were added.
func (m *Manager) TryChanged(ctx context.Context) error {
	return m.plugins.TryChanged((*plugin).runs, func(p *plugin) error { return p.start(ctx) })
}

// HandOver ends the succession: m forgets the plugins that next, which may be
// nil, has too. The names of the others are returned: they were changed or
// taken out, and run on for their calls until Remove or Close.
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
	return reflect.DeepEqual(p.manager.options.Workspace, workspace) && reflect.DeepEqual(known, spec) &&
		p.programUnchanged()
}

// programUnchanged reports whether the program is the one that was started
// last. One that never was is looked at when it is.
func (p *plugin) programUnchanged() bool {
	if _, attached := p.attachment(); attached || p.spec.Shipped {
		return true
	}
	now := p.programIdentity()
	p.Lock()
	defer p.Unlock()
	return p.Starts == 0 || p.launched == now && now != (identity{})
}

// runs reports whether the process is there.
func (p *plugin) runs() bool {
	p.Lock()
	defer p.Unlock()
	return p.Current != nil && p.Current.isReady()
}

// start has the process run.
func (p *plugin) start(ctx context.Context) error {
	in, err := p.acquire(ctx)
	if err == nil {
		p.done(in)
	}
	return err
}

// shared is what a manager and its successors have in common.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	return s.sockets.remove()
}
