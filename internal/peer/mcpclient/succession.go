package mcpclient

import (
	"context"
	"slices"
)

// Succeed makes the client that is to take c's place after a change of the
// configuration. Servers are added to it as to any other. One with the same
// spec and program as a server of c is that very server: its connection goes
// on, with the calls under way. A server ends with the last client that has it,
// so both clients have to be closed; see HandOver.
func (c *Client) Succeed(options Options) *Client {
	next := New(options)
	next.servers.Follow(&c.servers)
	return next
}

// TryChanged connects, concurrently, to the servers that replace a connected
// server of the same name in the client before. It returns the first error, a
// *tool.Error, in the order in which the servers were added.
func (c *Client) TryChanged(ctx context.Context) error {
	running := func(old *server) bool { return old.status().State == Running }
	return c.servers.TryChanged(running, func(s *server) error {
		_, err := s.acquire(ctx)
		return err
	})
}

// HandOver ends the succession: c forgets the servers that next, which may be
// nil, has too. The names of the others are returned: they were changed or
// taken out, and stay for their calls until Remove or Close.
func (c *Client) HandOver(next *Client) (left []string) {
	if next == nil {
		return c.servers.HandOver(nil)
	}
	return c.servers.HandOver(&next.servers)
}

// programUnchanged reports whether the program is the one that was started
// last. One that never was is looked at when it is.
func (s *server) programUnchanged() bool {
	now := s.program()
	s.Lock()
	defer s.Unlock()
	return s.Starts == 0 || slices.Equal(s.launched, now)
}

// program stamps the program, and the script where it is an interpreter:
// further arguments name what a server works on, and may well change with it.
func (s *server) program() []stamp {
	spec := s.spec
	spec.Command = spec.Command[:min(len(spec.Command), 2)]
	return stamps(spec, s.client.options.Dir)
}
