package main

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy stands between a fleet's programs and their hub, and breaks connections.
type proxy struct {
	url string
	to  string

	mu    sync.Mutex
	conns []net.Conn
	until time.Time // nothing passes before
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{url: "nats://" + listener.Addr().String(), to: to}
	t.Cleanup(func() { _ = listener.Close(); p.cut() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

func (p *proxy) serve(conn net.Conn) {
	hub, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = conn.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, conn, hub)
	p.mu.Unlock()
	go p.copy(hub, conn)
	p.copy(conn, hub)
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		wait := time.Until(p.until)
		p.mu.Unlock()
		time.Sleep(wait)
		if _, e := to.Write(buffer[:n]); e != nil || err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(d)
}
