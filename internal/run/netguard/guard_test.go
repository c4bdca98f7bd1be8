package netguard_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func newClient(t *testing.T, opts netguard.Options) *netguard.Client {
	t.Helper()
	c, err := netguard.New(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// local returns a client that may reach the test servers, which listen on 127.0.0.1.
func local(t *testing.T) *netguard.Client {
	return newClient(t, netguard.Options{Allow: []string{"127.0.0.1"}})
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func canary(t *testing.T) (server *httptest.Server, hits *atomic.Int32) {
	hits = new(atomic.Int32)
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, "secret")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			hits.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server, hits
}

func fetch(t *testing.T, c *netguard.Client, rawURL string) (*netguard.Response, error) {
	t.Helper()
	return c.Fetch(t.Context(), netguard.Request{URL: rawURL})
}

func port(t *testing.T, rawURL string) string {
	u, err := url.Parse(rawURL)
	require.NoError(t, err)
	return u.Port()
}

func TestRefusedTargets(t *testing.T) {
	server, hits := canary(t)
	p := port(t, server.URL)
	c := newClient(t, netguard.Options{Resolver: resolver(t, "127.0.0.1")})
	for _, target := range []string{
		"http://127.0.0.1:" + p, "http://127.1:" + p, "http://127.0.1:" + p, "http://2130706433:" + p,
		"http://0x7f000001:" + p, "http://0x7f.0.0.1:" + p, "http://0177.0.0.1:" + p, "http://017700000001:" + p,
		"http://0:" + p, "http://0.0.0.0:" + p, "http://127.0.0.1.:" + p, "http://127.0.0.2:" + p,
		"http://localhost:" + p, "http://LOCALHOST:" + p, "http://localhost.:" + p, "http://foo.localhost:" + p,
		"http://[::1]:" + p, "http://[::]:" + p, "http://[::ffff:127.0.0.1]:" + p, "http://[::ffff:7f00:1]:" + p,
		"http://[::127.0.0.1]:" + p, "http://[0:0:0:0:0:0:0:1]:" + p, "http://[64:ff9b::7f00:1]:" + p,
		"http://[2002:7f00:1::]:" + p, "http://[fe80::1%25lo]:" + p, "http://[fe80::1]/", "http://[fd00:ec2::254]/",
		"http://１２７.0.0.1:" + p, "http://127。0。0。1:" + p, "http://①②⑦.0.0.1:" + p,
		"http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.0.1/", "http://100.64.0.1/",
		"http://8.8.8.8:22/", "https://8.8.8.8:8443/", "http://www.example.com:22/", "https://www.example.com:6379/",
	} {
		_, err := fetch(t, c, target)
		require.Error(t, err, target)
		e := tool.AsError(err)
		assert.Equal(t, tool.Blocked, e.Code, "%s: %v", target, err)
		assert.NotEmpty(t, e.Suggestion, target)
	}
	assert.Zero(t, hits.Load())

	_, err := fetch(t, local(t), server.URL)
	require.NoError(t, err, "the control: with the address allowed the server is reached")
	assert.NotZero(t, hits.Load())
}

// The system is not asked about such a name, whatever it means to it.
func TestUnusualSpellingsAreNotLookedUp(t *testing.T) {
	c := newClient(t, netguard.Options{})
	for _, host := range []string{"127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1",
		"127.0.0.1.", "0"} {
		assert.Equal(t, tool.Blocked, tool.CodeOf(c.Check("http://"+host+"/")), host)
	}
	assert.NoError(t, c.Check("http://www.example.com/"), "the control")
}

func TestInvalidTargets(t *testing.T) {
	c := local(t)
	for _, target := range []string{
		"", "example.com", "/etc/passwd", "//example.com", "http://", "http:///x", "http:example.com", "https://:80/",
		"ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", "data:text/plain,x",
		"http://user@127.0.0.1/", "http://user:pw@example.com/", "http://127.0.0.1:0/", "http://127.0.0.1:70000/",
		"http://127.0.0.1:x/", "http://exa mple.com/", "http://example.com\r\nHost: x/", "http://[::1/", "http://%zz/",
		"http://a\x00b/",
		"http://%31%32%37.0.0.1/",
	} {
		_, err := fetch(t, c, target)
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err), "%q: %v", target, err)
		assert.NotContains(t, fmt.Sprint(err), "pw@")
	}
}

func TestInvalidAllow(t *testing.T) {
	for _, entry := range []string{"", "http://x", "x:80", "127.0.0.1/99", "127.1", "a b", "*.example.com", "300.1.1.1",
		"127.0.0.1:80"} {
		_, err := netguard.New(netguard.Options{Allow: []string{entry}})
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err), entry)
	}
}

func TestAllowedHostName(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	p := port(t, server.URL)
	c := newClient(t, netguard.Options{Allow: []string{"Intranet.Test."}, Resolver: resolver(t, "127.0.0.1")})
	for _, host := range []string{"intranet.test", "INTRANET.test", "intranet.test."} {
		r, err := fetch(t, c, "http://"+host+":"+p)
		require.NoError(t, err, host)
		assert.Equal(t, "hello", string(r.Body))
	}
	for _, host := range []string{"sub.intranet.test", "xintranet.test", "intranet.test.evil.test"} {
		_, err := fetch(t, c, "http://"+host+":"+p)
		assert.Equal(t, tool.Blocked, tool.CodeOf(err), host)
	}
}

func TestNameThatLeadsInside(t *testing.T) {
	server, hits := canary(t)
	for _, answer := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.7", "169.254.169.254", "0.0.0.0",
		"64:ff9b::7f00:1"} {
		c := newClient(t, netguard.Options{Resolver: resolver(t, answer)})
		_, err := fetch(t, c, "http://evil.test/")
		assert.Equal(t, tool.Blocked, tool.CodeOf(err), "%s: %v", answer, err)
		_, err = fetch(t, c, "http://evil.test:"+port(t, server.URL))
		assert.Equal(t, tool.Blocked, tool.CodeOf(err), "%s: %v", answer, err)
	}
	assert.Zero(t, hits.Load())
}

// TestRebinding has a name answer with an allowed address first and a forbidden one afterwards. The server
// closes its connection, so that the redirect connects again.
func TestRebinding(t *testing.T) {
	testneed.OnlyOn(t, "linux", "only Linux answers on all of 127.0.0.0/8 by itself")
	secret, hits := canary(t)
	p := port(t, secret.URL)
	front, err := net.Listen("tcp", "127.0.0.2:"+p)
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "/again", http.StatusFound)
	})}
	go server.Serve(front)
	t.Cleanup(func() { server.Close() })

	try := func(allow string) error {
		c := newClient(t, netguard.Options{Allow: []string{allow}, Resolver: resolver(t, "127.0.0.2", "127.0.0.1")})
		_, err := fetch(t, c, "http://rebind.test:"+p+"/")
		return err
	}
	assert.Equal(t, tool.Blocked, tool.CodeOf(try("127.0.0.2")))
	assert.Zero(t, hits.Load())

	require.NoError(t, try("127.0.0.0/8"), "the control: with both allowed the second address is reached")
	assert.NotZero(t, hits.Load())
}

// resolver asks a name server that returns the answers in turn, the last one forever, for any name.
func resolver(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	go answerNames(conn, answers)
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answerNames(conn net.PacketConn, answers []string) {
	buffer := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		var message dnsmessage.Message
		if err != nil || message.Unpack(buffer[:n]) != nil {
			continue
		}
		answer := netip.MustParseAddr(answers[0])
		message.Response, message.Additionals = true, nil
		if q := message.Questions[0]; fits(q.Type, answer) {
			message.Answers = []dnsmessage.Resource{record(q, answer)}
			answers = answers[min(1, len(answers)-1):]
		}
		packed, err := message.Pack()
		if err == nil {
			_, _ = conn.WriteTo(packed, from)
		}
	}
}

func fits(t dnsmessage.Type, addr netip.Addr) bool {
	return t == dnsmessage.TypeA && addr.Is4() || t == dnsmessage.TypeAAAA && addr.Is6()
}

func record(q dnsmessage.Question, addr netip.Addr) dnsmessage.Resource {
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
	if addr.Is4() {
		return dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}}
	}
	return dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}}
}
