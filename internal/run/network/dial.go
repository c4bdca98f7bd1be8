package network

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

const (
	// dialTimeout bounds making a connection, including lookup and proxy.
	dialTimeout = 30 * time.Second
	// nextAddress is how long one address of a name is tried before the next, as RFC 8305 recommends.
	nextAddress = 250 * time.Millisecond
	// mostAddresses is how many addresses of a name are tried.
	mostAddresses = 32
)

// Dialer makes connections outside of the sandbox.
type Dialer struct {
	// Resolve looks up a name.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to an address.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Own lists the addresses of this machine.
	Own func() []netip.Addr
	// Proxy returns the proxy for a host and port, or nil.
	Proxy func(host string, port uint16) *url.URL
	// Roots must certify the hosts of credentials; nil means the machine's.
	Roots *x509.CertPool
}

// SystemDialer uses the machine's resolver and the proxies of the operator's environment.
func SystemDialer() *Dialer {
	var dialer net.Dialer
	return &Dialer{
		Resolve: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", to.String())
		},
		Own:   ownAddresses,
		Proxy: environmentProxy(),
	}
}

func ownAddresses() (own []netip.Addr) {
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, prefix.Addr().Unmap().WithZone(""))
		}
	}
	return own
}

// ProxyVariables are the variables that name proxies.
var ProxyVariables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy",
	"NO_PROXY", "no_proxy"}

// environmentProxy uses HTTP_PROXY for port 80, HTTPS_PROXY for other ports, and ALL_PROXY for both, except for
// hosts of NO_PROXY.
func environmentProxy() func(host string, port uint16) *url.URL {
	config := httpproxy.FromEnvironment()
	all := os.Getenv("ALL_PROXY")
	if all == "" {
		all = os.Getenv("all_proxy")
	}
	if config.HTTPProxy == "" {
		config.HTTPProxy = all
	}
	if config.HTTPSProxy == "" {
		config.HTTPSProxy = all
	}
	choose := config.ProxyFunc()
	return func(host string, port uint16) *url.URL {
		target := &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}
		if port == 80 {
			target.Scheme = "http"
		}
		u, err := choose(target)
		if err != nil {
			return nil
		}
		return u
	}
}

// refusal is the error of a connection that may not be made.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// connect connects to what an entry of the list allows, a name or else an address. It returns the address
// connected to, "proxy" for a proxy.
func (d *Dialer) connect(ctx context.Context, entry *Entry, name string, addr netip.Addr, port uint16) (
	net.Conn, string, error) {
	if name == "" {
		if via := d.proxyFor(addr.String(), port); via != nil && NotPublic(addr) == "" {
			conn, err := d.dialVia(ctx, via, addr.String(), port)
			return conn, "proxy", err
		}
		to := netip.AddrPortFrom(addr, port)
		conn, err := d.Dial(ctx, to)
		return conn, to.String(), failed(err)
	}
	addrs, err := d.Resolve(ctx, name)
	if err == nil && len(addrs) == 0 {
		err = errors.New("it has no address")
	}
	private := err == nil
	own := sync.OnceValue(d.ownAddresses)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap().WithZone("")
		if err := check(entry, addrs[i], own); err != nil {
			return nil, addrs[i].String(), err
		}
		private = private && NotPublic(addrs[i]) != ""
	}
	if via := d.proxyFor(name, port); via != nil && !private {
		conn, err := d.dialVia(ctx, via, name, port)
		return conn, "proxy", err
	}
	if err != nil {
		return nil, "", failed(err)
	}
	return d.dialFirst(ctx, addrs[:min(len(addrs), mostAddresses)], port)
}

func (d *Dialer) ownAddresses() []netip.Addr {
	if d.Own == nil {
		return nil
	}
	return d.Own()
}

func (d *Dialer) proxyFor(host string, port uint16) *url.URL {
	if d.Proxy == nil {
		return nil
	}
	return d.Proxy(host, port)
}

// metadata are the metadata addresses of clouds, which serve what their machines are trusted with. Others are
// link-local.
var metadata = []netip.Addr{netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254")}

// check refuses an address of a name. An exact name may lead into a private network (some use the addresses of
// documentation), another only to public addresses, and none to this machine, whose addresses are own.
func check(entry *Entry, addr netip.Addr, own func() []netip.Addr) error {
	reason := NotPublic(addr)
	if !entry.Below && !entry.Ask {
		switch reason {
		case "private", "unique local", "shared address space", "documentation":
			reason = ""
		}
	}
	switch {
	case slices.Contains(metadata, addr):
		reason = "cloud metadata"
	case reason == "" && slices.Contains(own(), addr):
		reason = "this machine"
	case reason == "":
		return nil
	}
	what := "which no name may lead to"
	if NotPublic(addr) == "private" || NotPublic(addr) == "unique local" {
		what = "to which only an exact name may lead"
	}
	return &refusal{fmt.Sprintf("it leads to %s, %s (%s)", addr, what, reason)}
}

// dialFirst connects to the first address that answers. Each gets a moment before the next is tried beside it.
func (d *Dialer) dialFirst(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		conn net.Conn
		at   string
		err  error
	}
	results := make(chan result)
	dial := func(to netip.AddrPort) {
		conn, err := d.Dial(ctx, to)
		select {
		case results <- result{conn, to.String(), err}:
		case <-ctx.Done():
			if conn != nil {
				_ = conn.Close()
			}
		}
	}
	var first result
	next := time.NewTimer(0)
	defer next.Stop()
	for tried, running := 0, 0; tried < len(addrs) || running > 0; {
		turn := next.C
		if tried == len(addrs) {
			turn = nil
		}
		select {
		case <-turn:
			go dial(netip.AddrPortFrom(addrs[tried], port))
			tried++
			running++
			next.Reset(nextAddress)
		case r := <-results:
			if r.err == nil {
				return r.conn, r.at, nil
			}
			running--
			if first.err == nil {
				first = r
			}
			next.Reset(0)
		case <-ctx.Done():
			return nil, "", failed(ctx.Err())
		}
	}
	return nil, first.at, failed(first.err)
}

// failed shortens a network error to its cause.
func failed(err error) error {
	var lookup *net.DNSError
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lookup):
		return errors.New(lookup.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it does not answer")
	case errors.As(err, &op):
		return op.Err
	}
	return err
}

func (d *Dialer) dialVia(ctx context.Context, via *url.URL, host string, port uint16) (net.Conn, error) {
	to := net.JoinHostPort(host, strconv.Itoa(int(port)))
	var conn net.Conn
	var err error
	switch via.Scheme {
	case "socks5", "socks5h":
		conn, err = throughSOCKS(ctx, via, to)
	case "http", "https":
		conn, err = connectVia(ctx, via, to)
	default:
		err = fmt.Errorf("proxies of scheme %q are not known", via.Scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", via.Redacted(), err)
	}
	return conn, nil
}

func throughSOCKS(ctx context.Context, via *url.URL, to string) (net.Conn, error) {
	known := *via
	known.Scheme = "socks5"
	dialer, err := proxy.FromURL(&known, proxy.Direct)
	if err != nil {
		return nil, err
	}
	contextual, ok := dialer.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("it cannot be given up")
	}
	return contextual.DialContext(ctx, "tcp", to)
}

func connectVia(ctx context.Context, via *url.URL, to string) (net.Conn, error) {
	port := via.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[via.Scheme]
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(via.Hostname(), port))
	if err != nil {
		return nil, err
	}
	if via.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: via.Hostname()})
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	made, err := requestTunnel(conn, via, to)
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return made, nil
}

// requestTunnel asks a proxy to connect. It returns the connection to read from afterwards.
func requestTunnel(conn net.Conn, via *url.URL, to string) (net.Conn, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: make(http.Header)}
	if via.User != nil {
		password, _ := via.User.Password()
		request.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(via.User.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	if reader.Buffered() > 0 {
		return &read{conn, reader}, nil
	}
	return conn, nil
}

// read is a connection of which something was already read.
type read struct {
	net.Conn
	rest *bufio.Reader
}

func (r *read) Read(p []byte) (int, error) { return r.rest.Read(p) }

// CloseWrite closes the sending direction.
func (r *read) CloseWrite() error {
	closeWrite(r.Conn)
	return nil
}
