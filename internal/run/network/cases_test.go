package network

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func logged(t *testing.T, log *Log, n int) []Connection {
	t.Helper()
	require.Eventually(t, func() bool { list, _ := log.Connections(); return len(list) == n }, time.Minute, time.Millisecond)
	list, _ := log.Connections()
	return list
}

func TestManyConnectionsAtOnce(t *testing.T) {
	const many = 200
	upstream := listen(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn); _ = conn.Close() })
	s, log := newServer(t, upstream, "a.example:80")
	to := s.addressFor(t, "a.example", 80)
	var conns []*net.TCPConn
	for range many {
		conns = append(conns, connect(t, s, to))
	}
	for i, conn := range conns { // all are open now
		_, err := conn.Write([]byte{0x80 + byte(i%100)})
		require.NoError(t, err)
	}
	for i, conn := range conns {
		got := make([]byte, 1)
		_, err := io.ReadFull(conn, got)
		require.NoError(t, err)
		assert.Equal(t, 0x80+byte(i%100), got[0])
		_ = conn.CloseWrite()
	}
	for _, c := range logged(t, log, many) {
		assert.Equal(t, [2]int64{1, 1}, [2]int64{c.Sent, c.Received})
	}
}

func TestAGibibytePasses(t *testing.T) {
	testneed.NotShort(t, "passes a gibibyte")
	const size = 1 << 30
	upstream := listen(t, func(conn net.Conn) {
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range size / len(piece) {
			if _, err := conn.Write(piece); err != nil {
				break
			}
		}
		_ = conn.Close()
	})
	s, log := newServer(t, upstream, "a.example:80")
	conn := connect(t, s, s.addressFor(t, "a.example", 80))
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Minute)))
	n, err := io.Copy(io.Discard, conn)
	require.NoError(t, err)
	assert.EqualValues(t, size, n)
	_ = conn.Close()
	assert.EqualValues(t, size, logged(t, log, 1)[0].Received)
}

// A process that does not read is waited for until it ends.
func TestWhoNeverReads(t *testing.T) {
	ended := make(chan error, 1)
	upstream := listen(t, func(conn net.Conn) {
		piece := make([]byte, 1<<20)
		for {
			if _, err := conn.Write(piece); err != nil {
				ended <- err
				_ = conn.Close()
				return
			}
		}
	})
	s, log := newServer(t, upstream, "a.example:80")
	conn := connect(t, s, s.addressFor(t, "a.example", 80))
	got := make([]byte, 1)
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	reset(conn)
	assert.Error(t, testproc.Receive(t, ended))
	assert.Less(t, logged(t, log, 1)[0].Received, int64(64<<20), "what nobody reads is not read on")
}

func TestHalfClosedConnections(t *testing.T) {
	got := make(chan string, 1)
	upstream := listen(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("bye"))
		_ = conn.(*net.TCPConn).CloseWrite()
		data, _ := io.ReadAll(conn)
		got <- string(data)
		_ = conn.Close()
	})
	s, log := newServer(t, upstream, "a.example:80")
	conn := connect(t, s, s.addressFor(t, "a.example", 80))
	data, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "bye", string(data))
	for range 3 {
		_, err = conn.Write([]byte("later "))
		require.NoError(t, err)
	}
	require.NoError(t, conn.CloseWrite())
	assert.Equal(t, "later later later ", testproc.Receive(t, got))
	logged(t, log, 1)
}

func TestAResetInsideIsPassedOut(t *testing.T) {
	ended := make(chan error, 1)
	upstream := listen(t, func(conn net.Conn) {
		_, err := io.Copy(io.Discard, conn)
		ended <- err
		_ = conn.Close()
	})
	s, _ := newServer(t, upstream, "a.example:80")
	conn := connect(t, s, s.addressFor(t, "a.example", 80))
	_, err := conn.Write([]byte("x"))
	require.NoError(t, err)
	reset(conn)
	assert.ErrorIs(t, testproc.Receive(t, ended), syscall.ECONNRESET)
}

func TestConnectionsEndWithTheProcess(t *testing.T) {
	ended := make(chan struct{})
	upstream := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn); close(ended); _ = conn.Close() })
	s, log := newServer(t, upstream, "a.example:80")
	conn := connect(t, s, s.addressFor(t, "a.example", 80))
	_, err := conn.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, conn.CloseWrite())
	s.end()
	testproc.Receive(t, ended)
	logged(t, log, 1)
}

// A host that is down is reported at once.
func TestAHostThatIsDown(t *testing.T) {
	for name, c := range map[string]struct {
		dial    func(context.Context, netip.AddrPort) (net.Conn, error)
		resolve error
		said    string
	}{
		"refuses": {func(context.Context, netip.AddrPort) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}, nil, "connection refused"},
		"no route":   {func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, syscall.EHOSTUNREACH }, nil, "no route to host"},
		"silent":     {func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, context.DeadlineExceeded }, nil, "does not answer"},
		"no such":    {nil, &net.DNSError{Err: "no such host", IsNotFound: true}, "no such host"},
		"no network": {nil, &net.DNSError{Err: "network is unreachable"}, "network is unreachable"},
	} {
		parsed, err := Parse([]string{"a.example:80"})
		require.NoError(t, err)
		log := &Log{}
		s := NewServer(parsed, log, &Dialer{Dial: c.dial, Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, c.resolve
		}})
		if conn := connect(t, s, s.addressFor(t, "a.example", 80)); conn != nil {
			_, err = conn.Read(make([]byte, 1))
			assert.ErrorIs(t, err, syscall.ECONNRESET, name)
		}
		logged(t, log, 1)
		assert.Contains(t, log.Explain(), "a.example could not be reached: ", name)
		assert.Contains(t, log.Explain(), c.said, name)
		assert.Empty(t, log.Refused(), name)
	}
}

// Questions come over TCP too, several in one connection, at once or byte by byte.
func TestDNSOverTCP(t *testing.T) {
	s, _ := newServer(t, "", "a.example")
	question := func(name string) []byte {
		m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{
			{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
		packed, err := m.Pack()
		require.NoError(t, err)
		return append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
	}
	conn := connect(t, s, netip.AddrPortFrom(Resolver(), 53))
	all := append(question("a.example."), question("b.example.")...)
	for _, b := range all {
		_, err := conn.Write([]byte{b})
		require.NoError(t, err)
	}
	for _, want := range []dnsmessage.RCode{0, dnsmessage.RCodeNameError} {
		var size [2]byte
		_, err := io.ReadFull(conn, size[:])
		require.NoError(t, err)
		answer := make([]byte, binary.BigEndian.Uint16(size[:]))
		_, err = io.ReadFull(conn, answer)
		require.NoError(t, err)
		var m dnsmessage.Message
		require.NoError(t, m.Unpack(answer))
		assert.Equal(t, want, m.RCode)
	}
	for name, bad := range map[string][]byte{"too long": {0xff, 0xff, 0}, "no question": {0, 3, 1, 2, 3}, "an answer": append([]byte{0, 12},
		make([]byte, 2)...)} {
		conn := connect(t, s, netip.AddrPortFrom(Resolver(), 53))
		_, err := conn.Write(bad)
		require.NoError(t, err)
		_ = conn.CloseWrite()
		left, _ := io.ReadAll(conn)
		assert.Empty(t, left, name)
	}
}

// Ten thousand refused names cause no lookup and get no address.
func TestTenThousandNames(t *testing.T) {
	parsed, err := Parse([]string{"*.example.org"})
	require.NoError(t, err)
	var lookups atomic.Int64
	log := &Log{}
	s := NewServer(parsed, log, &Dialer{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		lookups.Add(1)
		return nil, nil
	}})
	before := s.next
	for i := range 10_000 {
		m := ask(t, s, "n"+string(rune('a'+i%26))+netip.AddrFrom4([4]byte{0, 0, byte(i >> 8), byte(i)}).String()+".evil.example.",
			dnsmessage.TypeTXT)
		require.Equal(t, dnsmessage.RCodeNameError, m.RCode)
	}
	assert.Zero(t, lookups.Load())
	assert.Equal(t, before, s.next)
	list, missed := log.Connections()
	assert.Len(t, list, mostKept)
	assert.Equal(t, 10_000-mostKept, missed)
}
