// Package roster keeps the running members of a configuration, such as its
// plugins, when the configuration is read again. Each reading has a Roster of
// its own. A member that both readings declare the same is in both rosters and
// runs on undisturbed; it is closed by the last roster that has it.
package roster

import (
	"errors"
	"slices"
	"sync"
)

// Errors of Add.
var (
	ErrTaken  = errors.New("the name is taken")
	ErrClosed = errors.New("the roster is closed")
)

// Member is what a Roster holds.
type Member interface {
	// Used reports whether the member was ever started. Closing one that was
	// not must not take time.
	Used() bool
	// Close ends the member and returns when it has ended. It is called once.
	Close()
}

// Roster is a set of members by name. It is safe for use by several
// goroutines. The zero value is empty and ready for use.
type Roster[M Member] struct {
	mu     sync.Mutex
	before *Roster[M] // whose members may be taken over; nil for none
	byName map[string]*entry[M]
	order  []*entry[M]
	closed bool
}

// entry is a member with the number of rosters that have it.
type entry[M Member] struct {
	name   string
	member M

	mu      sync.Mutex
	rosters int
}

// Follow lets r, which is empty yet, take over members of before, until
// HandOver or Close. Both rosters have to be closed in the end.
func (r *Roster[M]) Follow(before *Roster[M]) { r.before = before }

// Add adds the member of that name. It is the one of the roster before for
// which same returns true, and otherwise what create makes, whose error is
// passed on. Other errors are ErrTaken and ErrClosed; a member that was created
// is closed then.
func (r *Roster[M]) Add(name string, same func(M) bool, create func() (M, error)) error {
	e := r.inherit(name, same)
	if e == nil {
		member, err := create()
		if err != nil {
			return err
		}
		e = &entry[M]{name: name, member: member, rosters: 1}
	}
	if err := r.enrol(e); err != nil {
		e.drop()
		return err
	}
	return nil
}

// inherit takes over the member of that name from the roster before. It returns
// nil where there is none, or another one.
func (r *Roster[M]) inherit(name string, same func(M) bool) *entry[M] {
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

func (r *Roster[M]) enrol(e *entry[M]) error {
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

// Remove forgets a member, and closes it unless another roster has it too.
// Removing an unknown one does nothing.
func (r *Roster[M]) Remove(name string) {
	r.mu.Lock()
	e := r.byName[name]
	if r.closed {
		e = nil // Close drops it with all others
	}
	delete(r.byName, name)
	r.order = slices.DeleteFunc(r.order, func(o *entry[M]) bool { return o == e })
	r.mu.Unlock()
	if e != nil {
		e.drop()
	}
}

// Find returns the member of that name, and whether there is one.
func (r *Roster[M]) Find(name string) (member M, ok bool) {
	if e := r.find(name); e != nil {
		return e.member, true
	}
	return member, false
}

func (r *Roster[M]) find(name string) *entry[M] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byName[name]
}

// All returns the members in the order in which they were added.
func (r *Roster[M]) All() []M {
	entries := r.entries()
	all := make([]M, len(entries))
	for i, e := range entries {
		all[i] = e.member
	}
	return all
}

func (r *Roster[M]) entries() []*entry[M] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}

// TryChanged calls try, concurrently, for each member that replaces one of the
// same name in the roster before, where running returns true for the old one.
// It returns the first error in the order in which the members were added.
func (r *Roster[M]) TryChanged(running func(old M) bool, try func(M) error) error {
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

// HandOver ends the time in which next, which may be nil, takes members over
// from r. r forgets those that next has too. The names of the others are
// returned: they stay in r until Remove or Close.
func (r *Roster[M]) HandOver(next *Roster[M]) (left []string) {
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

// Close closes, concurrently, all members that no other roster has, and returns
// when they have ended. It reports false when r was closed before. Nothing can
// be added afterwards.
func (r *Roster[M]) Close() bool {
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
			e.drop() // at once: most commands start none of many members
			continue
		}
		closing.Go(e.drop)
	}
	closing.Wait()
	return true
}

// share notes a further roster that has the member. It fails when the last one
// has dropped it.
func (e *entry[M]) share() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rosters == 0 {
		return false
	}
	e.rosters++
	return true
}

// drop is the end of one roster's use of the member, which ends with the last.
func (e *entry[M]) drop() {
	e.mu.Lock()
	e.rosters--
	last := e.rosters == 0
	e.mu.Unlock()
	if last {
		e.member.Close()
	}
}
