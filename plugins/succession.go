package plugins

import (
	"context"
	"reflect"
	"slices"
	"sync"
)

// Succeed makes the manager that is to take m's place, with plugins that are
// added to it anew. One whose spec and program are those of a plugin of m, in
// the same workspace, is that very plugin: its process goes on, with its calls
// and all that it holds. A plugin ends with the last manager that has it, so
// both managers are closed in the end, whichever is used; see HandOver.
func (m *Manager) Succeed(options Options) *Manager {
	next := NewManager(options)
	next.before = m
	next.shared = m.shared
	next.shared.use()
	return next
}

// TryChanged starts, at the same time, those plugins that take the place of
// one which runs under the same name in the manager before, and gives the
// first error in the order in which they were added: a *tool.Error.
func (m *Manager) TryChanged(ctx context.Context) error {
	m.mu.Lock()
	before, list := m.before, slices.Clone(m.order)
	m.mu.Unlock()
	if before == nil {
		return nil
	}
	errs := make([]error, len(list))
	var starting sync.WaitGroup
	for i, p := range list {
		if old := before.find(p.spec.Name); old != nil && old != p && old.runs() {
			starting.Go(func() { errs[i] = p.start(ctx) })
		}
	}
	starting.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// HandOver ends the succession: m forgets the plugins that next has too, which
// may be nil. It gives the names of those that are left, which were changed or
// taken out: they run on for the calls they have until Remove or Close.
func (m *Manager) HandOver(next *Manager) (left []string) {
	var taken []*plugin
	if next != nil {
		next.mu.Lock()
		next.before = nil
		taken = slices.Clone(next.order)
		next.mu.Unlock()
	}
	for _, p := range m.list() {
		if slices.Contains(taken, p) {
			m.Remove(p.spec.Name)
		} else {
			left = append(left, p.spec.Name)
		}
	}
	return left
}

// inherit gives the plugin of the manager before that spec stands for too, nil
// where there is none.
func (m *Manager) inherit(spec Spec) *plugin {
	m.mu.Lock()
	before := m.before
	m.mu.Unlock()
	if before == nil || !reflect.DeepEqual(m.options.Workspace, before.options.Workspace) {
		return nil
	}
	if p := before.find(spec.Name); p != nil && sameSpec(p.spec, spec) && p.programUnchanged() && p.share() {
		return p
	}
	return nil
}

func (m *Manager) find(name string) *plugin {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plugins[name]
}

func (m *Manager) list() []*plugin {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.order)
}

// sameSpec reports whether two specs declare the same. Of ResolveConfig that
// is told by Config.
func sameSpec(a, b Spec) bool {
	a.ResolveConfig, b.ResolveConfig = nil, nil
	return reflect.DeepEqual(a, b)
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

// share notes a further manager that has the plugin. It fails when the plugin
// has ended.
func (p *plugin) share() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.managers++
	return true
}

// drop is the end of one manager's use of the plugin, which ends with the
// last.
func (p *plugin) drop() {
	p.mu.Lock()
	p.managers--
	last := p.managers == 0
	p.mu.Unlock()
	if last {
		p.close()
	}
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
