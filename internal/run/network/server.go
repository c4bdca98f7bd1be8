// Package network lets confined processes reach hosts by name, and no others. In their network namespace
// 198.18.0.0/15 is the machine itself: the launcher opens sockets there and hands them out, and a Server
// answers at them from outside. A name of the list gets an address of that range; a connection to it is decided
// and made outside. Nothing else in the namespace has a route, so every program is confined, with or without
// support for proxies.
package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// mostNames bounds the names that get addresses, mostConnections a process's concurrent connections.
	mostNames       = 4096
	mostConnections = 1024
	// lastBytes is how long connections may continue after the process's end.
	lastBytes = 10 * time.Second
)

// Server lets one process and its descendants reach what a list names.
type Server struct {
	list  List
	log   *Log
	dial  *Dialer
	slots chan struct{}
	gates map[gateKey]*gate
	// over is closed when the process has ended, and ctx with it.
	over <-chan struct{}
	ctx  context.Context
	end  context.CancelFunc

	mu    sync.Mutex
	addrs map[string]netip.Addr
	hosts map[netip.Addr]string
	next  netip.Addr
}

// Socket is one that the launcher opens.
type Socket struct {
	// Datagram is for UDP; otherwise the socket listens for TCP.
	Datagram bool
	At       netip.AddrPort
}

// NewServer returns the server of a process.
func NewServer(list List, log *Log, dial *Dialer) *Server {
	ctx, end := context.WithCancel(context.Background())
	s := &Server{list: list, log: log, dial: dial, over: ctx.Done(), ctx: ctx, end: end,
		slots: make(chan struct{}, mostConnections), gates: make(map[gateKey]*gate),
		addrs: make(map[string]netip.Addr), hosts: make(map[netip.Addr]string), next: names.Addr().Next().Next()}
	for _, e := range list.entries {
		if e.Name != "" && !e.Below {
			_, _ = s.addressOf(e.Name)
		}
	}
	return s
}

// Resolver is the address of the server for programs' resolvers.
func Resolver() netip.Addr { return names.Addr().Next() }

// Interface returns the addresses of the loopback interface besides its own. The first makes the range of names
// this machine.
func (s *Server) Interface() []netip.Prefix {
	all := []netip.Prefix{netip.PrefixFrom(Resolver(), names.Bits())}
	for _, e := range s.list.entries {
		p := netip.PrefixFrom(e.Addr, e.Addr.BitLen())
		if e.Addr.IsValid() && !e.Addr.IsLoopback() && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// Sockets returns what the launcher opens. A program can use the same port unless it is open at all addresses:
// ports that it has no right to, and ports of names below a domain.
func (s *Server) Sockets() []Socket {
	any := netip.IPv4Unspecified()
	all := []Socket{{true, netip.AddrPortFrom(any, 53)}, {false, netip.AddrPortFrom(any, 53)}}
	add := func(at netip.AddrPort) {
		same := func(k Socket) bool { return !k.Datagram && k.At.Port() == at.Port() }
		covers := func(k Socket) bool { return same(k) && (k.At == at || k.At.Addr() == any && at.Addr().Is4()) }
		if slices.ContainsFunc(all, covers) {
			return
		}
		if at.Addr() == any {
			all = slices.DeleteFunc(all, func(k Socket) bool { return same(k) && k.At.Addr().Is4() })
		}
		all = append(all, Socket{false, at})
	}
	for _, e := range s.list.entries {
		for _, port := range e.Ports {
			switch {
			case e.Addr.Is6():
				add(netip.AddrPortFrom(e.Addr, port))
			case e.Addr.IsValid() && port >= 1024:
				add(netip.AddrPortFrom(e.Addr, port))
			case e.Name != "" && !e.Below && port >= 1024:
				add(netip.AddrPortFrom(s.addrs[e.Name], port))
			default:
				add(netip.AddrPortFrom(any, port))
			}
		}
	}
	return all
}

var errTooManyNames = errors.New("the process has asked for too many names")

// addressOf returns the address that stands for a name.
func (s *Server) addressOf(name string) (netip.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if addr, ok := s.addrs[name]; ok {
		return addr, nil
	}
	if len(s.addrs) >= mostNames {
		return netip.Addr{}, errTooManyNames
	}
	addr := s.next
	s.next, s.addrs[name], s.hosts[addr] = addr.Next(), addr, name
	return addr, nil
}

// nameOf returns the name that an address stands for, or "".
func (s *Server) nameOf(addr netip.Addr) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[addr]
}

// reset closes a connection so that the other side sees an error instead of its end.
func reset(conn net.Conn) {
	if t, ok := conn.(interface{ SetLinger(sec int) error }); ok {
		_ = t.SetLinger(0)
	}
	_ = conn.Close()
}

// at returns the address that a connection was made to.
func at(conn *net.TCPConn) netip.AddrPort {
	addr, _ := conn.LocalAddr().(*net.TCPAddr)
	return addr.AddrPort()
}

// handle serves a connection made to an address inside.
func (s *Server) handle(inside *net.TCPConn, to netip.AddrPort) {
	addr, port := to.Addr().Unmap(), to.Port()
	if port == 53 && (addr == Resolver() || addr.IsLoopback()) && s.list.literal(addr, port) == nil {
		s.serveDNS(inside)
		return
	}
	var err error
	c := Connection{Host: addr.String(), Port: port}
	entry := s.list.literal(addr, port)
	name := s.nameOf(addr)
	if name != "" {
		c.Host = name
		entry = s.list.find(name, port)
	}
	if entry == nil {
		s.log.refuse(c.Host, port, notNamed)
		reset(inside)
		return
	}
	began := time.Now()
	if entry.Ask {
		if c.Approved, err = s.log.ask(s.ctx, c.Host, port); err != nil {
			s.log.refuseUnasked(c.Host, port, err)
			reset(inside)
			return
		}
	}
	if gate := s.gateOf(name, port); gate != nil {
		gate.serve(inside)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), dialTimeout)
	outside, address, err := s.dial.connect(ctx, entry, name, addr, port)
	stop()
	c.Address = address
	if err != nil {
		var refused *refusal
		if errors.As(err, &refused) {
			s.log.refuse(c.Host, port, refused.why)
		} else {
			c.Failed = err.Error()
			s.log.add(c, began)
		}
		reset(inside)
		return
	}
	ended := s.log.opened(c, began)
	r := relay{inside: inside, outside: outside, name: name, over: s.over}
	c.Sent, c.Received, err = r.run()
	if err != nil {
		c.Refused = err.Error()
	}
	ended(c)
}
