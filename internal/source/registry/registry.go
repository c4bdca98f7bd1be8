// Package registry keeps the running members of a configuration, such as its plugins, when it is read again. Each
// reading has a Registry. A member declared the same in both is in both and continues undisturbed; its last
// registry closes it.
package registry

import (
	"errors"
	"slices"
	"sync"
)

// Errors of Add.
var (
	ErrTaken  = errors.New("the name is taken")
	ErrClosed = errors.New("the registry is closed")
)

// Member is an entry of a Registry.
type Member interface {
	// Used reports whether the member was ever started. Closing an unused one must be fast.
	Used() bool
	// Close ends the member and waits. It is called once.
	Close()
}

// Registry is a set of members by name. It is safe for concurrent use. The zero value is empty and ready to use.
type Registry[M Member] struct {
	mu     sync.Mutex
	before *Registry[M] // source of members to take over; may be nil
	byName map[string]*entry[M]
	order  []*entry[M]
	closed bool
}

// entry is a member with the number of registries that have it.
type entry[M Member] struct {
	name   string
	member M

	mu         sync.Mutex
	registries int
}

// Follow lets r, which must be empty, take over members of before, until HandOver or Close. Both registries must
// be closed in the end.
func (r *Registry[M]) Follow(before *Registry[M]) { r.before = before }

// Add adds a member: that of the previous registry if same returns true for it, else the result of create,
// whose error is returned. Other errors are ErrTaken and ErrClosed, for which a created member is closed.
func (r *Registry[M]) Add(name string, same func(M) bool, create func() (M, error)) error {
	e := r.inherit(name, same)
	if e == nil {
		member, err := create()
		if err != nil {
			return err
		}
		e = &entry[M]{name: name, member: member, registries: 1}
	}
	if err := r.enrol(e); err != nil {
		e.drop()
		return err
	}
	return nil
}

// inherit takes over the member of that name from the previous registry; nil if there is none or it
// differs.
func (r *Registry[M]) inherit(name string, same func(M) bool) *entry[M] {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before == nil {
		return nil
	}
	if e := before.find(name); e != nil && same(e.member) && e.share() {
		return e
	}
	return nil
}

func (r *Registry[M]) enrol(e *entry[M]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.byName[e.name] != nil:
		return ErrTaken
	case r.byName == nil:
		r.byName = make(map[string]*entry[M])
	}
	r.byName[e.name] = e
	r.order = append(r.order, e)
	return nil
}

// Remove removes a member, and closes it unless another registry has it too. An unknown name is ignored.
func (r *Registry[M]) Remove(name string) {
	r.mu.Lock()
	e := r.byName[name]
	if r.closed {
		e = nil // Close drops it with the others
	}
	delete(r.byName, name)
	r.order = slices.DeleteFunc(r.order, func(o *entry[M]) bool { return o == e })
	r.mu.Unlock()
	if e != nil {
		e.drop()
	}
}

// Find returns the member of that name, if there is one.
func (r *Registry[M]) Find(name string) (member M, ok bool) {
	if e := r.find(name); e != nil {
		return e.member, true
	}
	return member, false
}

func (r *Registry[M]) find(name string) *entry[M] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byName[name]
}

// All returns the members in the order they were added.
func (r *Registry[M]) All() []M {
	entries := r.entries()
	all := make([]M, len(entries))
	for i, e := range entries {
		all[i] = e.member
	}
	return all
}

func (r *Registry[M]) entries() []*entry[M] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}

// TryChanged calls try, concurrently, for each member that replaces one of the same name in the previous registry
// for which running returns true. It returns the first error in the order of Add.
func (r *Registry[M]) TryChanged(running func(old M) bool, try func(M) error) error {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before == nil {
		return nil
	}
	entries := r.entries()
	errs := make([]error, len(entries))
	var trying sync.WaitGroup
	for i, e := range entries {
		if old := before.find(e.name); old != nil && old != e && running(old.member) {
			trying.Go(func() { errs[i] = try(e.member) })
		}
	}
	trying.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// HandOver ends the succession to next, which may be nil: r drops the members that next has too. It returns the
// names of the others: they stay in r until Remove or Close.
func (r *Registry[M]) HandOver(next *Registry[M]) (left []string) {
	var taken []*entry[M]
	if next != nil {
		next.mu.Lock()
		next.before = nil
		taken = slices.Clone(next.order)
		next.mu.Unlock()
	}
	for _, e := range r.entries() {
		if slices.Contains(taken, e) {
			r.Remove(e.name)
		} else {
			left = append(left, e.name)
		}
	}
	return left
}

// Close closes, concurrently, all members that no other registry has, and waits. It returns false if r was closed
// before. Nothing can be added afterwards.
func (r *Registry[M]) Close() bool {
	r.mu.Lock()
	closed := r.closed
	r.closed, r.before = true, nil
	r.mu.Unlock()
	if closed {
		return false
	}
	var closing sync.WaitGroup
	for _, e := range r.entries() {
		if !e.member.Used() {
			e.drop() // no goroutine: most commands start few of many members
			continue
		}
		closing.Go(e.drop)
	}
	closing.Wait()
	return true
}

// share adds a registry to the member's. It fails if the last one has dropped it.
func (e *entry[M]) share() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.registries == 0 {
		return false
	}
	e.registries++
	return true
}

// drop ends one registry's use of the member; the last one closes it.
func (e *entry[M]) drop() {
	e.mu.Lock()
	e.registries--
	last := e.registries == 0
	e.mu.Unlock()
	if last {
		e.member.Close()
	}
}
