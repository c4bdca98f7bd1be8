package network

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/fault"
)

// mostSockets is how many descriptors one message can carry.
const mostSockets = 253

// Start serves at the sockets that the launcher hands over, until its end of the socket pair is closed. It
// returns that end.
func (s *Server) Start() (theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(pair[0]), "network")
	defer file.Close()
	theirs = os.NewFile(uintptr(pair[1]), "network")
	conn, err := net.FileConn(file)
	if err != nil {
		_ = theirs.Close()
		return nil, err
	}
	done := s.log.begin(s.list)
	go func() {
		defer done()
		s.serveAt(conn.(*net.UnixConn))
	}()
	return theirs, nil
}

func (s *Server) serveAt(control *net.UnixConn) {
	defer control.Close()
	dns, listeners, err := receive(control, s.Sockets())
	if err != nil {
		return // the launcher ended before
	}
	ended := make(chan struct{})
	go func() {
		_, _ = control.Read(make([]byte, 1)) // nothing is sent
		close(ended)
	}()
	s.Serve(dns, listeners, ended)
}

// Serve serves at the sockets, in the order of Sockets, until ended is closed. It closes them.
func (s *Server) Serve(dns *net.UDPConn, listeners []net.Listener, ended <-chan struct{}) {
	var all sync.WaitGroup
	all.Go(func() { s.serveUDP(dns) })
	for _, l := range listeners {
		all.Go(func() { s.accept(l, &all) })
	}
	<-ended
	for _, l := range listeners {
		if t, ok := l.(*net.TCPListener); ok {
			_ = t.SetDeadline(time.Now())
		}
	}
	s.end()
	_ = dns.Close()
	all.Wait()
	for _, l := range listeners {
		_ = l.Close()
	}
}

func (s *Server) accept(l net.Listener, all *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			s.serveConn(conn, all)
		case errors.Is(err, os.ErrDeadlineExceeded):
			for _, conn := range waiting(l) {
				s.serveConn(conn, all)
			}
			return
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(10 * time.Millisecond) // out of descriptors
		}
	}
}

func (s *Server) serveConn(conn net.Conn, all *sync.WaitGroup) {
	inside, ok := conn.(*net.TCPConn)
	if !ok {
		_ = conn.Close()
		return
	}
	select {
	case s.slots <- struct{}{}:
		all.Go(func() {
			defer func() { <-s.slots }()
			defer fault.Contain("passed on a connection", func(err error) {
				s.log.refuse("a host", 0, err.Error())
				reset(inside)
			})
			s.handle(inside, at(inside))
		})
	default:
		s.log.refuse("any host", 0, "the process has too many connections open")
		reset(inside)
	}
}

// waiting returns the connections made before the process ended but not accepted yet.
func waiting(l net.Listener) (conns []net.Conn) {
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) {
		for {
			next, _, err := unix.Accept4(int(fd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			if err != nil {
				return
			}
			file := os.NewFile(uintptr(next), "connection")
			if conn, err := net.FileConn(file); err == nil {
				conns = append(conns, conn)
			}
			_ = file.Close()
		}
	})
	return conns
}

func receive(control *net.UnixConn, sockets []Socket) (dns *net.UDPConn, listeners []net.Listener, err error) {
	content, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*mostSockets))
	_, n, _, _, err := control.ReadMsgUnix(content, rights)
	if err != nil {
		return nil, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, nil, unix.EPROTO
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, nil, err
	}
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		files[i] = os.NewFile(uintptr(fd), "socket of the network")
		defer files[i].Close()
	}
	if len(files) != len(sockets) {
		return nil, nil, unix.EPROTO
	}
	for i, socket := range sockets {
		if !socket.Datagram {
			l, err := net.FileListener(files[i])
			if err != nil {
				return nil, nil, errors.Join(err, closeAll(dns, listeners))
			}
			listeners = append(listeners, l)
			continue
		}
		conn, err := net.FilePacketConn(files[i])
		if err != nil {
			return nil, nil, err
		}
		dns = conn.(*net.UDPConn)
		if err := tellAsked(dns); err != nil {
			return nil, nil, errors.Join(err, closeAll(dns, listeners))
		}
	}
	return dns, listeners, nil
}

// tellAsked makes the kernel report the address that a question was sent to: the answer must come from it.
func tellAsked(dns *net.UDPConn) error {
	raw, err := dns.SyscallConn()
	if err != nil {
		return err
	}
	ctlErr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	})
	return errors.Join(ctlErr, err)
}

func closeAll(dns *net.UDPConn, listeners []net.Listener) error {
	for _, l := range listeners {
		_ = l.Close()
	}
	if dns != nil {
		return dns.Close()
	}
	return nil
}
