package network

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

// newServer returns a server whose names all lead to a server on this machine.
func newServer(t *testing.T, upstream string, list ...string) (*Server, *Log) {
	t.Helper()
	parsed, err := Parse(list)
	require.NoError(t, err)
	log := &Log{}
	return NewServer(parsed, log, &Dialer{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", upstream)
		},
	}), log
}

func listen(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return l.Addr().String()
}

// connect returns a connection that the server takes for one to an address inside, nil if it is reset at once.
func connect(t *testing.T, s *Server, to netip.AddrPort) *net.TCPConn {
	t.Helper()
	address := listen(t, func(conn net.Conn) { s.handle(conn.(*net.TCPConn), to) })
	conn, err := net.Dial("tcp", address)
	if errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	return conn.(*net.TCPConn)
}

func (s *Server) addressFor(t *testing.T, name string, port uint16) netip.AddrPort {
	t.Helper()
	addr, err := s.addressOf(name)
	require.NoError(t, err)
	return netip.AddrPortFrom(addr, port)
}

func ask(t *testing.T, s *Server, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{
		{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}}}
	packed, err := q.Pack()
	require.NoError(t, err)
	var m dnsmessage.Message
	require.NoError(t, m.Unpack(s.answer(packed)))
	assert.Equal(t, uint16(7), m.ID)
	assert.True(t, m.Response)
	return m
}

func TestNamesAreAnswered(t *testing.T) {
	s, log := newServer(t, "", "a.example.org", "*.example.net:8443", "db:5432", "localhost:99")
	for _, c := range []struct {
		name string
		kind dnsmessage.Type
		code dnsmessage.RCode
		want string
	}{
		{"a.example.org.", dnsmessage.TypeA, 0, "198.18.0.2"},
		{"A.eXample.ORG.", dnsmessage.TypeA, 0, "198.18.0.2"},
		{"db.", dnsmessage.TypeA, 0, "198.18.0.3"},
		{"x.y.example.net.", dnsmessage.TypeA, 0, "198.18.0.4"},
		{"a.example.org.", dnsmessage.TypeAAAA, 0, ""},
		{"a.example.org.", dnsmessage.TypeTXT, 0, ""},
		{"a.example.org.", 65, 0, ""}, // HTTPS: other ports and keys
		{"localhost.", dnsmessage.TypeA, 0, "127.0.0.1"},
		{"example.net.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"b.example.org.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"secret.a.example.org.", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, ""},
		{"_http._tcp.a.example.org.", dnsmessage.TypeSRV, dnsmessage.RCodeNameError, ""},
		{"2.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, 0, "a.example.org."},
		{"9.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, ""},
		{"8.8.8.8.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, ""},
	} {
		m := ask(t, s, c.name, c.kind)
		assert.Equal(t, c.code, m.RCode, "%s %s", c.name, c.kind)
		got := ""
		for _, r := range m.Answers {
			switch body := r.Body.(type) {
			case *dnsmessage.AResource:
				got = netip.AddrFrom4(body.A).String()
			case *dnsmessage.PTRResource:
				got = body.PTR.String()
			}
		}
		assert.Equal(t, c.want, got, "%s %s", c.name, c.kind)
	}
	assert.Equal(t, []string{"example.net", "b.example.org", "secret.a.example.org"}, log.Refused())
}

func TestManyNames(t *testing.T) {
	s, log := newServer(t, "", "*.example.org")
	for i := range mostNames + 10 {
		name := "n" + big.NewInt(int64(i)).String() + ".example.org."
		m := ask(t, s, name, dnsmessage.TypeA)
		if i >= mostNames {
			assert.Equal(t, dnsmessage.RCodeServerFailure, m.RCode)
		}
	}
	for i := range 2 * mostKept {
		ask(t, s, "n"+big.NewInt(int64(i)).String()+".example.com.", dnsmessage.TypeA)
	}
	list, missed := log.Connections()
	assert.Len(t, list, mostKept)
	assert.Equal(t, mostKept+10, missed)
	assert.Contains(t, log.Explain(), "and 980 more")
}

// A message must not make the server panic or stop answering.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x01a\x00\x00\x01\x00\x01" +
		"\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x07\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	list, err := Parse([]string{"*.example.org"})
	require.NoError(f, err)
	s := NewServer(list, nil, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		if reply := s.answer(data); reply != nil {
			var p dnsmessage.Parser
			header, err := p.Start(reply)
			require.NoError(t, err)
			assert.True(t, header.Response)
		}
	})
}

func TestEDNSIsAnswered(t *testing.T) {
	s, _ := newServer(t, "", "a.example")
	q := []byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x01a\x07example\x00\x00\x01\x00\x01" +
		"\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00")
	var m dnsmessage.Message
	require.NoError(t, m.Unpack(s.answer(q)))
	require.Len(t, m.Additionals, 1)
	assert.Equal(t, dnsmessage.TypeOPT, m.Additionals[0].Header.Type)
	assert.Len(t, m.Answers, 1)
}

func TestConnectionsAreRelayed(t *testing.T) {
	upstream := listen(t, func(conn net.Conn) { // answers once it has read everything
		data, _ := io.ReadAll(conn)
		_, _ = conn.Write([]byte(strings.ToUpper(string(data))))
		_ = conn.Close()
	})
	s, log := newServer(t, upstream, "a.example:80")
	conn := connect(t, s, s.addressFor(t, "a.example", 80))
	_, err := conn.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, conn.CloseWrite())
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "HELLO", string(got))
	require.Eventually(t, func() bool { list, _ := log.Connections(); return len(list) == 1 }, 10*time.Second,
		time.Millisecond)
	list, _ := log.Connections()
	list[0].Seconds = 0
	assert.Equal(t, Connection{Host: "a.example", Port: 80, Address: "8.8.8.8:80", Sent: 5, Received: 5}, list[0])
}

// The server speaks first in many protocols.
func TestServerSpeaksFirst(t *testing.T) {
	upstream := listen(t, func(conn net.Conn) { _, _ = conn.Write([]byte("220 ready\n")) })
	s, _ := newServer(t, upstream, "a.example:443")
	conn := connect(t, s, s.addressFor(t, "a.example", 443))
	got := make([]byte, 10)
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, "220 ready\n", string(got))
}

func TestResetIsPassedOn(t *testing.T) {
	upstream := listen(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)); reset(conn) })
	s, _ := newServer(t, upstream, "a.example:80")
	conn := connect(t, s, s.addressFor(t, "a.example", 80))
	_, err := conn.Write([]byte("x"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestWhatIsNotNamedIsReset(t *testing.T) {
	s, log := newServer(t, "127.0.0.1:1", "a.example:80", "*.example.org:8443")
	unnamed := s.addressFor(t, "b.example", 80)
	for what, to := range map[string]netip.AddrPort{
		"another port":          s.addressFor(t, "a.example", 8443),
		"an address of no name": netip.MustParseAddrPort("198.18.9.9:80"),
		"a name of no entry":    unnamed,
		"this machine":          netip.MustParseAddrPort("127.0.0.1:80"),
		"IPv6 of this machine":  netip.MustParseAddrPort("[::1]:80"),
		"mapped":                netip.MustParseAddrPort("[::ffff:127.0.0.1]:80"),
	} {
		if conn := connect(t, s, to); conn != nil {
			_, err := conn.Read(make([]byte, 1))
			assert.ErrorIs(t, err, syscall.ECONNRESET, what)
		}
	}
	list, _ := log.Connections()
	assert.NotEmpty(t, list)
	for _, c := range list {
		assert.NotEmpty(t, c.Refused, c.Host)
	}
}

func TestTLSNamesTheHost(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	reached := make(chan string, 16)
	upstream := listen(t, func(conn net.Conn) {
		server := tls.Server(conn, config)
		if server.Handshake() == nil {
			reached <- server.ConnectionState().ServerName
			_, _ = io.Copy(server, server)
		}
		_ = conn.Close()
	})
	for name, c := range map[string]struct {
		sni  string
		list string
		ok   bool
	}{
		"same":             {"a.example.org", "a.example.org", true},
		"case":             {"A.Example.ORG", "a.example.org", true},
		"none":             {"", "a.example.org", true},
		"another":          {"evil.example", "a.example.org", false},
		"below":            {"x.a.example.org", "a.example.org", false},
		"same list":        {"b.example.org", "*.example.org", false},
		"another port too": {"evil.example", "a.example.org:8443", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := newServer(t, upstream, c.list)
			port := uint16(443)
			if strings.HasSuffix(c.list, "8443") {
				port = 8443
			}
			conn := connect(t, s, s.addressFor(t, "a.example.org", port))
			client := tls.Client(conn, &tls.Config{ServerName: c.sni, InsecureSkipVerify: true})
			err := client.Handshake()
			if !c.ok {
				require.Error(t, err)
				require.Eventually(t, func() bool { return log.Explain() != "" }, 10*time.Second, time.Millisecond)
				assert.Empty(t, reached)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.sni, testproc.Receive(t, reached))
			_, err = client.Write([]byte("ping"))
			require.NoError(t, err)
			got := make([]byte, 4)
			_, err = io.ReadFull(client, got)
			require.NoError(t, err)
			assert.Equal(t, "ping", string(got))
		})
	}
	t.Run("no greeting", func(t *testing.T) {
		s, log := newServer(t, upstream, "a.example.org")
		conn := connect(t, s, s.addressFor(t, "a.example.org", 443))
		_, err := conn.Write([]byte("\x16\x03\x01\x00\x05\x02aaaa"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return log.Explain() != "" }, 10*time.Second, time.Millisecond)
	})
}

// Exact names may lead into a private network, others only to public addresses.
func TestAddressesAreChecked(t *testing.T) {
	own := netip.MustParseAddr("9.9.9.9")
	mine := func() []netip.Addr { return []netip.Addr{own} }
	for addr, want := range map[string][2]bool{ // exact, below
		"8.8.8.8": {true, true}, "2606:4700:4700::1111": {true, true},
		"10.1.2.3": {true, false}, "172.16.0.1": {true, false}, "192.168.1.1": {true, false},
		"fd00::1": {true, false}, "100.64.0.1": {true, false},
		"127.0.0.1": {}, "127.255.0.1": {}, "::1": {}, "0.0.0.0": {}, "::": {}, "9.9.9.9": {},
		"169.254.169.254": {}, "fe80::1": {}, "168.63.129.16": {}, "100.100.100.200": {}, "fd00:ec2::254": {},
		"fd20:ce::254": {}, "198.18.0.1": {}, "198.19.0.1": {}, "224.0.0.1": {}, "255.255.255.255": {},
		"::ffff:127.0.0.1": {}, "64:ff9b::7f00:1": {}, "2002:7f00:1::": {}, "::127.0.0.1": {}, "ff02::1": {},
	} {
		for i, entry := range []*Entry{{Name: "a.example"}, {Name: "example", Below: true}, {Ask: true}} {
			err := check(entry, netip.MustParseAddr(addr).Unmap(), mine)
			assert.Equal(t, want[min(i, 1)], err == nil, "%s %d: %v", addr, i, err)
		}
	}
}

func TestTheCheckedAddressIsDialled(t *testing.T) {
	answers := [][]string{{"8.8.8.8"}, {"127.0.0.1"}, {"8.8.4.4", "127.0.0.1"}, {"::ffff:127.0.0.1"}, {}}
	lookups := 0
	var dialled []string
	d := &Dialer{
		Resolve: func(context.Context, string) (addrs []netip.Addr, err error) {
			for _, a := range answers[lookups] {
				addrs = append(addrs, netip.MustParseAddr(a))
			}
			lookups++
			return addrs, nil
		},
		Dial: func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
			dialled = append(dialled, to.String())
			return nil, syscall.ECONNREFUSED
		},
	}
	for range answers {
		_, _, err := d.connect(t.Context(), &Entry{Name: "example", Below: true}, "a.example", netip.Addr{}, 80)
		assert.Error(t, err)
	}
	assert.Equal(t, []string{"8.8.8.8:80"}, dialled)
}

func TestDeadAddressesArePassedBy(t *testing.T) {
	upstream := listen(t, func(conn net.Conn) { _ = conn.Close() })
	var addrs []netip.Addr
	for i := range 30 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{9, 9, 9, byte(i)}))
	}
	d := &Dialer{Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		switch to.Addr() {
		case addrs[0]: // does not answer
			<-ctx.Done()
			return nil, ctx.Err()
		case addrs[29]:
			return net.Dial("tcp", upstream)
		}
		return nil, syscall.ECONNREFUSED
	}}
	conn, at, err := d.dialFirst(t.Context(), addrs, 80)
	require.NoError(t, err)
	_ = conn.Close()
	assert.Equal(t, "9.9.9.29:80", at)
	_, _, err = d.dialFirst(t.Context(), addrs[1:29], 80)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// A proxy gets the name. What leads into a private network is reached directly.
func TestProxies(t *testing.T) {
	var asked []string
	proxy := listen(t, func(conn net.Conn) {
		buffer := make([]byte, 4096)
		n, _ := conn.Read(buffer)
		line, _, _ := strings.Cut(string(buffer[:n]), "\r\n")
		asked = append(asked, line)
		if strings.Contains(string(buffer[:n]), "Proxy-Authorization: Basic dTpw\r\n") {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n220 first"))
		} else {
			_, _ = conn.Write([]byte("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"))
		}
	})
	at := &url.URL{Scheme: "http", Host: proxy, User: url.UserPassword("u", "p")}
	resolved, failed := []netip.Addr{netip.MustParseAddr("8.8.8.8")}, error(nil)
	d := &Dialer{
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return resolved, failed },
		Dial:    func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
		Proxy:   func(string, uint16) *url.URL { return at },
	}
	exact, below := &Entry{Name: "a.example"}, &Entry{Name: "example", Below: true}
	conn, address, err := d.connect(t.Context(), below, "a.example", netip.Addr{}, 443)
	require.NoError(t, err)
	assert.Equal(t, "proxy", address)
	got, err := io.ReadAll(io.LimitReader(conn, 9))
	require.NoError(t, err)
	assert.Equal(t, "220 first", string(got))
	_ = conn.Close()
	failed = &net.DNSError{Err: "no such host", IsNotFound: true}
	resolved = nil
	_, _, err = d.connect(t.Context(), exact, "a.example", netip.Addr{}, 22)
	require.NoError(t, err)
	assert.Equal(t, []string{"CONNECT a.example:443 HTTP/1.1", "CONNECT a.example:22 HTTP/1.1"}, asked)
	failed, resolved = nil, []netip.Addr{netip.MustParseAddr("10.1.2.3")}
	_, _, err = d.connect(t.Context(), exact, "a.example", netip.Addr{}, 22)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, _, err = d.connect(t.Context(), below, "a.example", netip.Addr{}, 22)
	var refused *refusal
	assert.ErrorAs(t, err, &refused)
	at.User = nil
	resolved = []netip.Addr{netip.MustParseAddr("8.8.8.8")}
	_, _, err = d.connect(t.Context(), exact, "a.example", netip.Addr{}, 443)
	assert.ErrorContains(t, err, "407")
	assert.False(t, errors.As(err, &refused))
}

// Connections to a host and port wait for one answer to one question.
func TestAConnectionIsAskedAbout(t *testing.T) {
	upstream := listen(t, func(conn net.Conn) { _, _ = conn.Write([]byte("hello")); _ = conn.Close() })
	s, log := newServer(t, upstream, "named.example:80", "ask")
	var mu sync.Mutex
	var list []string
	asked := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(list) }
	answer := make(chan error)
	log.Ask = func(to string) (string, error) {
		mu.Lock()
		list = append(list, to)
		mu.Unlock()
		return "once", <-answer
	}
	read := func(name string, port uint16) (string, error) {
		conn := connect(t, s, s.addressFor(t, name, port))
		if conn == nil {
			return "", syscall.ECONNRESET
		}
		got, err := io.ReadAll(conn)
		return string(got), err
	}
	got, err := read("named.example", 80)
	require.NoError(t, err)
	assert.Equal(t, "hello", got)
	assert.Empty(t, asked())

	results := make(chan error)
	for range 20 {
		go func() { _, err := read("a.example", 443); results <- err }()
	}
	answer <- nil
	for range 20 {
		assert.NoError(t, testproc.Receive(t, results))
	}
	assert.Equal(t, []string{"a.example:443"}, asked())

	go func() { answer <- errors.New("the user refused it") }()
	_, err = read("a.example", 22)
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = read("a.example", 22)
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Equal(t, []string{"a.example:443", "a.example:22"}, asked(), "a refusal holds for the call")
	_, err = read("a.example", 5432)
	assert.ErrorIs(t, err, syscall.ECONNRESET, "the port is none of the entry")
	assert.Contains(t, log.Explain(), "a.example:22: the user refused it")
	assert.NotContains(t, log.Refused(), "a.example:22", "a person who said no needs no line to add")

	log.Ask = nil
	_, err = read("b.example", 443)
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Contains(t, log.Explain(), `"b.example"]`)
}

// A person is not asked about each of many hosts.
func TestQuestionsAreBounded(t *testing.T) {
	asked := 0
	log := &Log{Ask: func(string) (string, error) { asked++; return "", errors.New("no") }}
	for i := range 10 * mostAsked {
		_, err := log.ask(t.Context(), "n"+big.NewInt(int64(i)).String()+".example", 443)
		require.Error(t, err)
	}
	assert.Equal(t, mostAsked, asked)
}

// After the process's end the answer is not waited for.
func TestAQuestionEndsWithItsProcess(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	log := &Log{Ask: func(string) (string, error) { <-end; return "once", nil }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := log.ask(ctx, "a.example", 443)
	assert.ErrorIs(t, err, ErrUndecided)
}
