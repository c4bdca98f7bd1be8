package mcpclient

import (
	"context"
	"reflect"
	"slices"
	"sync"
)

// Succeed makes the client that is to take c's place, with servers that are
// added to it anew. One whose spec and program are those of a server of c is
// that very server: its connection goes on, with the calls under way. A server
// ends with the last client that has it, so both clients are closed in the
// end, whichever is used; see HandOver.
func (c *Client) Succeed(options Options) *Client {
	next := New(options)
	next.before = c
	return next
}

// TryChanged connects, at the same time, to those servers that take the place
// of one which is connected under the same name in the client before, and
// gives the first error in the order in which they were added: a *tool.Error.
func (c *Client) TryChanged(ctx context.Context) error {
	c.mu.Lock()
	before, list := c.before, slices.Clone(c.order)
	c.mu.Unlock()
	if before == nil {
		return nil
	}
	errs := make([]error, len(list))
	var connecting sync.WaitGroup
	for i, s := range list {
		if old := before.lookup(s.spec.Name); old != nil && old != s && old.status().State == Running {
			connecting.Go(func() { _, errs[i] = s.acquire(ctx) })
		}
	}
	connecting.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// HandOver ends the succession: c forgets the servers that next has too, which
// may be nil. It gives the names of those that are left, which were changed or
// taken out: they stay for the calls they have until Remove or Close.
func (c *Client) HandOver(next *Client) (left []string) {
	var taken []*server
	if next != nil {
		next.mu.Lock()
		next.before = nil
		taken = slices.Clone(next.order)
		next.mu.Unlock()
	}
	for _, s := range c.all() {
		if slices.Contains(taken, s) {
			c.Remove(s.spec.Name)
		} else {
			left = append(left, s.spec.Name)
		}
	}
	return left
}

// Remove forgets a server, and ends it unless another client has it too.
// Removing an unknown one does nothing.
func (c *Client) Remove(name string) {
	c.mu.Lock()
	s := c.servers[name]
	if c.closed {
		s = nil // it is dropped with all others
	}
	delete(c.servers, name)
	c.order = slices.DeleteFunc(c.order, func(o *server) bool { return o == s })
	c.mu.Unlock()
	if s != nil {
		s.drop()
	}
}

// inherit gives the server of the client before that spec stands for too, nil
// where there is none.
func (c *Client) inherit(spec Spec) *server {
	c.mu.Lock()
	before := c.before
	c.mu.Unlock()
	if before == nil {
		return nil
	}
	if s := before.lookup(spec.Name); s != nil && reflect.DeepEqual(s.spec, spec) && s.programUnchanged() && s.share() {
		return s
	}
	return nil
}

func (c *Client) lookup(name string) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[name]
}

// programUnchanged reports whether the program is the one that was started
// last. One that never was is looked at when it is.
func (s *server) programUnchanged() bool {
	now := s.program()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts == 0 || slices.Equal(s.launched, now)
}

// program stamps the program, and the script where it is an interpreter:
// further arguments name what a server works on, and may well change with it.
func (s *server) program() []stamp {
	spec := s.spec
	spec.Command = spec.Command[:min(len(spec.Command), 2)]
	return stamps(spec, s.client.options.Dir)
}

// share notes a further client that has the server. It fails when the server
// has ended.
func (s *server) share() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.clients++
	return true
}

// drop is the end of one client's use of the server, which ends with the last.
func (s *server) drop() {
	s.mu.Lock()
	s.clients--
	last := s.clients == 0
	s.mu.Unlock()
	if last {
		s.close()
	}
}
