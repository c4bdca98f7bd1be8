package netguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Defaults of Options.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultMaxBytes = 10 << 20
)

// Options are the limits of a Client. A zero field means its default.
type Options struct {
	// Allow exempts addresses, address ranges in CIDR form, and host names from checks. A host name matches
	// exactly, whatever its address; every entry allows all ports.
	Allow []string
	// Ports are the ports allowed without Allow; 80 and 443.
	Ports []int
	// MaxBytes bounds a body after decompression; 10 MiB.
	MaxBytes int64
	// Timeout bounds a whole fetch, redirects and body included; 30 s.
	Timeout time.Duration
	// ConnectTimeout bounds making a connection, and separately its TLS handshake; 10 s.
	ConnectTimeout time.Duration
	// HeaderTimeout bounds the wait for the first byte of a response; 20 s.
	HeaderTimeout time.Duration
	// IdleTimeout bounds a pause within the body; 10 s.
	IdleTimeout time.Duration
	// MaxRedirects bounds the redirects followed; 10. Negative: none.
	MaxRedirects int
	// UserAgent identifies the client; "toolhost".
	UserAgent string
	// Resolver resolves names; the system's. Its answers are checked.
	Resolver *net.Resolver
	// TLS configures https; Go's defaults.
	TLS *tls.Config
}

func (o Options) withDefaults() Options {
	if o.Ports == nil {
		o.Ports = []int{80, 443}
	}
	if o.MaxRedirects == 0 {
		o.MaxRedirects = 10
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.UserAgent == "" {
		o.UserAgent = "toolhost"
	}
	orElse(&o.Timeout, DefaultTimeout)
	orElse(&o.ConnectTimeout, 10*time.Second)
	orElse(&o.HeaderTimeout, 20*time.Second)
	orElse(&o.IdleTimeout, 10*time.Second)
	return o
}

func orElse(d *time.Duration, byDefault time.Duration) {
	if *d <= 0 {
		*d = byDefault
	}
}

// Client fetches from the public web. It is safe for concurrent use.
type Client struct {
	opts      Options
	allow     *allowed
	transport *http.Transport
	client    *http.Client
}

// New returns a client. It does not connect. The error is invalid_argument for an entry of opts.Allow that is
// not an address, a range or a host name.
func New(opts Options) (*Client, error) {
	allow := &allowed{hosts: make(map[string]bool)}
	for _, entry := range opts.Allow {
		if err := allow.add(entry); err != nil {
			return nil, err
		}
	}
	c := &Client{opts: opts.withDefaults(), allow: allow}
	c.transport = &http.Transport{
		Proxy:                  nil,
		DialContext:            c.DialContext,
		TLSClientConfig:        c.opts.TLS,
		TLSHandshakeTimeout:    c.opts.ConnectTimeout,
		ResponseHeaderTimeout:  c.opts.HeaderTimeout,
		MaxResponseHeaderBytes: 256 << 10,
		IdleConnTimeout:        10 * time.Second,
		MaxIdleConns:           16,
		ForceAttemptHTTP2:      true,
	}
	c.client = &http.Client{Transport: c.transport, CheckRedirect: c.checkRedirect}
	return c, nil
}

// Close closes idle connections. The client can still be used.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// DialContext connects to addr with the checks of the client's requests, for other transports.
func (c *Client) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: c.opts.ConnectTimeout, Resolver: c.opts.Resolver}
	if !c.allow.host(host) {
		d.Control = c.control
	}
	return d.DialContext(ctx, network, addr)
}

// control is called with the address about to be connected to.
func (c *Client) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return tool.Errorf(tool.Blocked, "the address %q cannot be checked", address)
	}
	return c.checkAddr(ap.Addr(), int(ap.Port()))
}
