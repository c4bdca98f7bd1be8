package network

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

const planted = "planted-5f2c1e"

// guarded is a server with a credential for an HTTPS host, which echoes.
type guarded struct {
	*Server
	log  *Log
	pool *x509.CertPool // what processes trust
	seen chan http.Header
}

func newGuarded(t *testing.T, list ...string) *guarded {
	t.Helper()
	g := &guarded{log: &Log{}, pool: x509.NewCertPool(), seen: make(chan http.Header, 1000)}
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.seen <- r.Header.Clone()
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "https://b.example/stolen", http.StatusFound)
		case "/reflect":
			w.Header().Set("X-Sent", r.Header.Get("Authorization"))
		case "/socket":
			conn, buffered, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_, _ = io.CopyN(conn, buffered, 4)
			_ = conn.Close()
		default:
			_ = http.NewResponseController(w).EnableFullDuplex()
			w.Header().Set("X-Protocol", r.Proto)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(flushing{w}, r.Body)
		}
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	parsed, err := Parse(list)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate()) // which is for example.com
	g.Server = NewServer(parsed, g.log, &Dialer{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", upstream.Listener.Addr().String())
		},
		Roots: roots,
	})
	t.Cleanup(g.end)
	certificate, err := g.Credentials([]Credential{
		{"registry", "example.com", 443, "Authorization", "Bearer " + planted},
		{"other", "www.example.com", 443, "Authorization", "Bearer " + planted},
	})
	require.NoError(t, err)
	if certificate != nil {
		require.True(t, g.pool.AppendCertsFromPEM(certificate))
	}
	return g
}

// flushing flushes each write.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	return n, errors.Join(err, http.NewResponseController(f.ResponseWriter).Flush())
}

// client makes requests as a process does.
func (g *guarded) client(t *testing.T, protocol2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: protocol2, TLSClientConfig: &tls.Config{RootCAs: g.pool},
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return connect(t, g.Server, g.addressFor(t, host, 443)), nil
		}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (g *guarded) raw(t *testing.T, name string, protocols ...string) *tls.Conn {
	t.Helper()
	return tls.Client(connect(t, g.Server, g.addressFor(t, "example.com", 443)),
		&tls.Config{ServerName: name, RootCAs: g.pool, NextProtos: protocols})
}

func TestACredentialIsAdded(t *testing.T) {
	for _, protocol2 := range []bool{false, true} {
		g := newGuarded(t, "example.com")
		client := g.client(t, protocol2)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com/echo",
			strings.NewReader("hello"))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer mine")
		if !protocol2 {
			request.Header.Add("Connection", "Authorization") // which would drop it on the way
		}
		response, err := client.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(body))
		assert.Equal(t, protocol2, response.ProtoMajor == 2)
		seen := testproc.Receive(t, g.seen)
		assert.Equal(t, []string{"Bearer " + planted}, seen["Authorization"])
		assert.Empty(t, seen["X-Forwarded-For"])

		big := bytes.Repeat([]byte("upload"), 1<<20)
		response, err = client.Post("https://example.com/echo", "", bytes.NewReader(big))
		require.NoError(t, err)
		body, err = io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(big, body))

		response, err = client.Get("https://example.com/redirect")
		require.NoError(t, err)
		_ = response.Body.Close()
		assert.Equal(t, "https://b.example/stolen", response.Header.Get("Location"), "the process goes there without it")
		response, err = client.Get("https://example.com/reflect")
		require.NoError(t, err)
		_ = response.Body.Close()
		assert.Empty(t, response.Header.Get("X-Sent"))
		client.CloseIdleConnections()
		require.Eventually(t, func() bool { list, _ := g.log.Connections(); return len(list) > 0 }, 10*time.Second, time.Millisecond)
		list, _ := g.log.Connections()
		assert.Equal(t, "registry", list[0].Credential)
		assert.NotContains(t, fmt.Sprint(list), planted)
	}
}

// What is sent in parts arrives in parts, both ways.
func TestRequestsAreStreamed(t *testing.T) {
	g := newGuarded(t, "example.com")
	body, feed := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com/echo", body)
	require.NoError(t, err)
	response, err := g.client(t, true).Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	for range 3 {
		_, err = io.WriteString(feed, "ping")
		require.NoError(t, err)
		got := make([]byte, 4)
		_, err = io.ReadFull(response.Body, got)
		require.NoError(t, err)
		assert.Equal(t, "ping", string(got))
	}
	_ = feed.Close()
}

func TestWebSocketsPass(t *testing.T) {
	g := newGuarded(t, "example.com")
	conn := g.raw(t, "example.com", "http/1.1")
	_, err := io.WriteString(conn, "GET /socket HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	require.NoError(t, err)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	assert.Equal(t, "Bearer "+planted, testproc.Receive(t, g.seen).Get("Authorization"))
	_, err = io.WriteString(conn, "ping")
	require.NoError(t, err)
	got, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, "ping", string(got))
}

// No request makes the credential go elsewhere or come back.
func TestACredentialGoesNowhereElse(t *testing.T) {
	g := newGuarded(t, "example.com", "*.example.com", "b.example")
	attempts := map[string]string{
		"absolute form":       "GET http://b.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"absolute https":      "GET https://b.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"CONNECT":             "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
		"CONNECT to itself":   "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
		"TRACE":               "TRACE / HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"no host":             "GET / HTTP/1.0\r\n\r\n",
		"two lines of host":   "GET / HTTP/1.1\r\nHost: example.com\r\nHost: b.example\r\n\r\n",
		"broken request":      "GET / HTTP/9.9\r\nHost: example.com\r\n\r\n",
		"length and chunks":   "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
		"two lengths":         "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
		"space in a header":   "GET / HTTP/1.1\r\nHost : b.example\r\n\r\n",
		"header of no name":   "GET / HTTP/1.1\r\nHost: example.com\r\n: x\r\n\r\n",
		"line folding":        "GET / HTTP/1.1\r\nHost: example.com\r\n b.example\r\n\r\n",
		"NUL in the host":     "GET / HTTP/1.1\r\nHost: example.com\x00b.example\r\n\r\n",
		"HTTP/2 preface late": "GET / HTTP/1.1\r\nHost: b.example\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
	for i, host := range []string{"b.example", "www.example.com", "example.com.b.example", "b.example:443", "example.com:80",
		"example.com:8443", "example.com@b.example", "b.example#example.com", "b.example/example.com", "8.8.8.8", "[::1]",
		"localhost", "127.0.0.1:443", "example.co", "xexample.com", "example.com..", "example.com:443:443", "exаmple.com",
		"*", "example.com,b.example", "example.com b.example", "169.254.169.254", "198.18.0.1", "%65xample.com.b", ".example.com"} {
		attempts[fmt.Sprintf("host %d %s", i, host)] = "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
	}
	for name, text := range attempts {
		conn := g.raw(t, "example.com", "http/1.1")
		_, err := io.WriteString(conn, text)
		require.NoError(t, err, name)
		_ = conn.CloseWrite()
		answer, _ := io.ReadAll(conn)
		assert.NotContains(t, string(answer), planted, name)
		_ = conn.Close()
	}
	assert.Empty(t, g.seen, "not one of them was passed on")

	for _, name := range []string{"b.example", "www.example.com", "x.example.com", "example.com.b.example", "com"} {
		conn := g.raw(t, name)
		assert.Error(t, conn.Handshake(), name)
	}
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "SSH-2.0-x\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\x16\x03\x01\x00\x05\x02aaaa"} {
		conn := connect(t, g.Server, g.addressFor(t, "example.com", 443))
		_, err := io.WriteString(conn, text)
		require.NoError(t, err)
		_ = conn.CloseWrite()
		answer, _ := io.ReadAll(conn)
		assert.NotContains(t, string(answer), planted)
	}
	// A host that the list allows only by a * gets no credential, though there is one for it.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://www.example.com/echo", nil)
	require.NoError(t, err)
	client := g.client(t, false)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	response, err := client.Do(request)
	require.NoError(t, err)
	_ = response.Body.Close()
	assert.Empty(t, testproc.Receive(t, g.seen).Get("Authorization"))
	said := fmt.Sprint(g.log.Connections()) + g.log.Explain()
	assert.NotContains(t, said, planted)
	assert.Contains(t, said, "the request names another host")
	assert.Contains(t, said, "the TLS greeting names another host")

	// The control: the same client can make an allowed request.
	response, err = g.client(t, false).Get("https://example.com/echo")
	require.NoError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, "Bearer "+planted, testproc.Receive(t, g.seen).Get("Authorization"))
}

// The host's own certificate and addresses are still checked.
func TestTheHostOfACredentialIsVerified(t *testing.T) {
	g := newGuarded(t, "example.com")
	g.dial.Roots = x509.NewCertPool()
	response, err := g.client(t, false).Get("https://example.com/echo")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadGateway, response.StatusCode)
	assert.Contains(t, string(body), "certificate")
	g = newGuarded(t, "example.com")
	g.dial.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	}
	response, err = g.client(t, false).Get("https://example.com/echo")
	require.NoError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, http.StatusBadGateway, response.StatusCode)
	assert.Empty(t, g.seen)
	assert.Contains(t, g.log.Explain(), "link-local")
}

// The certificate is valid for hosts of credentials only.
func TestTheAuthorityIsBounded(t *testing.T) {
	a, err := newAuthority([]string{"example.com"})
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	for host, ok := range map[string]bool{"example.com": true, "b.example": false, "xexample.com": false} {
		leaf, err := a.certify(host)
		require.NoError(t, err)
		parsed, err := x509.ParseCertificate(leaf.Certificate[0])
		require.NoError(t, err)
		_, err = parsed.Verify(x509.VerifyOptions{Roots: pool, DNSName: host})
		assert.Equal(t, ok, err == nil, host)
	}
	s, _ := newServer(t, "", "*.example.com", "a.example:22")
	certificate, err := s.Credentials([]Credential{{"r", "www.example.com", 443, "A", "b"}, {"s", "a.example", 443, "A", "b"}})
	require.NoError(t, err)
	assert.Nil(t, certificate, "no block names their host and port")
}

func TestCredentialHosts(t *testing.T) {
	for text, want := range map[string]string{"Registry.Example.org": "registry.example.org:443",
		"registry.example.org:8443": "registry.example.org:8443", "*.example.org": "", "localhost": "", "10.1.2.3": "",
		"ask": "", "https://example.org": "", "": "", "[2001:db8::1]:443": ""} {
		host, port, err := CredentialHost(text)
		if want == "" {
			assert.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, fmt.Sprintf("%s:%d", host, port))
	}
}
