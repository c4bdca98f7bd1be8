package mcpclient

import (
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/supervisor"
)

// State is a server's state. A failed one could not be reached, or was lost, the last time.
type State = supervisor.State

// The states of a server.
const (
	Idle     = supervisor.Idle
	Starting = supervisor.Starting
	Running  = supervisor.Running
	Failed   = supervisor.Failed
	Closed   = supervisor.Closed
)

// Status describes a server.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Server and Version are the server's own name and version, if known.
	Server  string `json:"server,omitempty"`
	Version string `json:"version,omitempty"`
	// Protocol is the revision in use. Pinned reports whether it is an older one because the server cannot
	// handle the newest.
	Protocol string `json:"protocol,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	// Tools counts the server's tools, before include and exclude.
	Tools int `json:"tools"`
	// PID is the process, or 0.
	PID int `json:"pid,omitempty"`
	// StartTook is the duration of the last connecting.
	StartTook time.Duration `json:"start_took,omitempty"`
	// Starts counts connection attempts since the client was made, Losses unexpected ends.
	Starts int `json:"starts"`
	Losses int `json:"losses"`
	// RetryAt is the next attempt for a repeatedly failed server.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// LastError is why it could not be reached, or was lost, the last time.
	LastError *tool.Error `json:"last_error,omitempty"`
}

// Status returns the servers' status in the order they were added, without connecting.
func (c *Client) Status() []Status {
	all := []Status{}
	for _, s := range c.servers.All() {
		s.known()
		all = append(all, s.status())
	}
	return all
}

func (s *server) status() Status {
	s.Lock()
	defer s.Unlock()
	out := Status{
		Name: s.spec.Name, State: s.State(), StartTook: s.StartTook, Starts: s.Starts, Losses: s.Losses,
		LastError: s.LastError,
	}
	if l := s.listing; l != nil {
		out.Server, out.Version, out.Protocol, out.Pinned, out.Tools = l.Server, l.Version, l.Protocol, l.Pinned != "",
			len(l.Tools)
	}
	out.RetryAt = s.RetryAt()
	if out.State == Running && s.Current.process != nil {
		out.PID = s.Current.process.PID()
	}
	return out
}
