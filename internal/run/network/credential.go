package network

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Credential is a header that toolhost adds to requests to one host. Processes never have it.
type Credential struct {
	Name string
	// Host is a name as returned by HostName.
	Host string
	Port uint16
	// Header and Value are added to each request.
	Header, Value string
}

// CredentialHost parses the host of a credential: a name, with a port unless it is 443. The error is a
// *Mistake.
func CredentialHost(text string) (host string, port uint16, err error) {
	e, what, fix := parseEntry(text)
	if what == "" && (e.Name == "" || e.Below) {
		what, fix = "is not one name", `Write the name of one host: "registry.example.org".`
	}
	if what != "" {
		return "", 0, &Mistake{-1, fmt.Sprintf("%q %s", text, what), fix}
	}
	if len(e.Ports) == 1 {
		return e.Name, e.Ports[0], nil
	}
	return e.Name, 443, nil
}

// gate terminates TLS for the host of a credential, adds the header to each request and passes it on.
type gate struct {
	Credential
	server *Server
	conns  chan net.Conn
	http   *http.Server
	start  sync.Once
	config *tls.Config
	// address is the last address connected to.
	address atomic.Pointer[string]
}

type gateKey struct {
	host string
	port uint16
}

// Credentials adds those whose host the list names itself. It returns the certificate that processes must trust
// for them, nil if there are none.
func (s *Server) Credentials(all []Credential) (certificate []byte, err error) {
	var hosts []string
	for _, c := range all {
		if Names(s.list.texts(), c.Host, c.Port) {
			hosts = append(hosts, c.Host)
			s.gates[gateKey{c.Host, c.Port}] = &gate{Credential: c, server: s, conns: make(chan net.Conn)}
		}
	}
	if len(hosts) == 0 {
		return nil, nil
	}
	authority, err := newAuthority(hosts)
	if err != nil {
		return nil, err
	}
	for _, g := range s.gates {
		leaf, err := authority.certify(g.Host)
		if err != nil {
			return nil, err
		}
		g.config = &tls.Config{NextProtos: []string{"h2", "http/1.1"},
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				if name, err := HostName(hello.ServerName); err != nil || name != "" && name != g.Host {
					s.log.refuse(g.Host, g.Port, fmt.Sprintf(namesAnother, hello.ServerName))
					return nil, errors.New("the TLS greeting names another host")
				}
				return leaf, nil
			}}
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.certificate.Raw}), nil
}

// authority signs certificates for the hosts of one server's credentials only. Its key stays in memory.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certifiedFor is how long certificates are valid: longer than a server runs.
const certifiedFor = 365 * 24 * time.Hour

func newAuthority(hosts []string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "toolhost, for one sandbox alone"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certifiedFor),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomains: hosts, PermittedDNSDomainsCritical: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, key}, err
}

func (a *authority) certify(host string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, DNSNames: []string{host},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (s *Server) gateOf(name string, port uint16) *gate {
	if name == "" {
		return nil
	}
	return s.gates[gateKey{name, port}]
}

// serve serves one connection until it or the process has ended.
func (g *gate) serve(inside net.Conn) {
	g.start.Do(g.listen)
	began := time.Now()
	conn := &countedConn{Conn: inside, closed: make(chan struct{})}
	select {
	case g.conns <- conn:
	case <-g.server.over:
		reset(inside)
		return
	}
	select {
	case <-conn.closed:
	case <-g.server.over:
		select {
		case <-conn.closed:
		case <-time.After(lastBytes):
			_ = conn.Close()
		}
	}
	c := Connection{Host: g.Host, Port: g.Port, Credential: g.Name, Sent: conn.read.Load(), Received: conn.written.Load()}
	if at := g.address.Load(); at != nil {
		c.Address = *at
		g.server.log.add(c, began)
	}
}

// listen serves the connections of serve.
func (g *gate) listen() {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, stop := context.WithTimeout(ctx, dialTimeout)
			defer stop()
			entry := g.server.list.find(g.Host, g.Port)
			conn, at, err := g.server.dial.connect(ctx, entry, g.Host, netip.Addr{}, g.Port)
			if err == nil {
				g.address.Store(&at)
			}
			return conn, err
		},
		TLSClientConfig:   &tls.Config{RootCAs: g.server.dial.Roots},
		ForceAttemptHTTP2: true, DisableCompression: true,
		IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: dialTimeout, ExpectContinueTimeout: time.Second,
	}
	proxy := &httputil.ReverseProxy{Rewrite: g.rewrite, Transport: transport, FlushInterval: -1,
		ModifyResponse: g.clean, ErrorHandler: g.failed, ErrorLog: log.New(io.Discard, "", 0)}
	g.http = &http.Server{TLSConfig: g.config, ReadHeaderTimeout: dialTimeout, ErrorLog: log.New(gateLog{g}, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if why := g.refuses(r); why != "" {
				g.server.log.refuse(g.Host, g.Port, why)
				http.Error(w, "toolhost refused the request: "+why, http.StatusMisdirectedRequest)
				return
			}
			// A server may answer before it has read the whole request. HTTP/2 always can.
			_ = http.NewResponseController(w).EnableFullDuplex()
			proxy.ServeHTTP(w, r)
		})}
	go func() { _ = g.http.ServeTLS(handover{g}, "", "") }()
	context.AfterFunc(g.server.ctx, transport.CloseIdleConnections)
}

// refuses returns why a request is not passed on, or "".
func (g *gate) refuses(r *http.Request) string {
	host, port := r.Host, ""
	if h, p, err := net.SplitHostPort(r.Host); err == nil {
		host, port = h, p
	}
	name, err := HostName(host)
	switch {
	case err != nil || name != g.Host || port != "" && port != strconv.Itoa(int(g.Port)):
		return fmt.Sprintf("the request names another host: %q", r.Host)
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace:
		return fmt.Sprintf("the method %s would lead the credential elsewhere", r.Method)
	}
	return ""
}

func (g *gate) rewrite(r *httputil.ProxyRequest) {
	authority := g.Host
	if g.Port != 443 {
		authority = net.JoinHostPort(g.Host, strconv.Itoa(int(g.Port)))
	}
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "https", authority, authority
	r.Out.Header.Set(g.Header, g.Value)
}

// clean drops headers of a response that contain the credential.
func (g *gate) clean(r *http.Response) error {
	for name, values := range r.Header {
		for _, value := range values {
			if strings.Contains(value, g.Value) {
				r.Header.Del(name)
			}
		}
	}
	return nil
}

func (g *gate) failed(w http.ResponseWriter, r *http.Request, err error) {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		g.server.log.refuse(g.Host, g.Port, refused.why)
	case r.Context().Err() == nil:
		g.server.log.add(Connection{Host: g.Host, Port: g.Port, Credential: g.Name, Failed: failed(err).Error()}, time.Now())
	}
	http.Error(w, fmt.Sprintf("toolhost could not reach %s: %v", g.Host, failed(err)), http.StatusBadGateway)
}

// handover is the listener for the connections of serve.
type handover struct{ *gate }

func (h handover) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.server.over:
		return nil, net.ErrClosed
	}
}

func (handover) Close() error   { return nil }
func (handover) Addr() net.Addr { return &net.TCPAddr{} }

// gateLog takes from the HTTP server's log why a program got no response.
type gateLog struct{ *gate }

func (l gateLog) Write(line []byte) (int, error) {
	text := string(line)
	switch {
	case strings.Contains(text, "does not look like a TLS handshake"):
		l.server.log.refuse(l.Host, l.Port, "it is not HTTPS, and a credential is added only to HTTPS")
	case strings.Contains(text, "remote error: tls"):
		l.server.log.add(Connection{Host: l.Host, Port: l.Port, Credential: l.Name,
			Failed: "the program does not accept the certificate that toolhost has added to those that it is shown"},
			time.Now())
	}
	return len(line), nil
}

// countedConn counts bytes and signals when it is closed.
type countedConn struct {
	net.Conn
	read, written atomic.Int64
	once          sync.Once
	closed        chan struct{}
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}
