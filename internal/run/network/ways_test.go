package network

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

// Names similar to those of the list are refused without a lookup; the control, beside each, has an address.
func TestNamesAroundTheList(t *testing.T) {
	parsed, err := Parse([]string{"*.example.org", "exact.example.com", "db"})
	require.NoError(t, err)
	var lookups atomic.Int64
	s := NewServer(parsed, &Log{}, &Dialer{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		lookups.Add(1)
		return nil, nil
	}})
	secret := "c2VjcmV0"
	for _, name := range []string{
		"example.org", "xexample.org", "a.xexample.org", "example.org.evil.example", "a.example.org.evil.example",
		"a.example.orgx", "a.example.or", "org", ".", "www.exact.example.com", "exact.example.com.evil.example",
		"xact.example.com", "example.com", "com", "exact.example.co", "db.example", "a.db", "adb", "exact-example.com",
		"exact_example.com", "exact.example.com-", "a.example-org", "a.example.0rg", "xn--exmple-cua.org", "198.18.0.2",
		"8.8.8.8", "2130706433", "0x7f000001", "127.0.0.1.nip.example", "metadata", "metadata.google.internal", "localhostx",
		"localhost.evil.example", "localhost.example.com", secret + ".evil.example", secret + ".exact.example.com",
		secret + "." + secret + ".example.net", "_dns." + secret + ".evil.example", "example.org.localhost.evil",
		"2.0.18.198.in-addr.arpa.evil", "1.0.0.127.in-addr.arpa", "254.169.254.169.in-addr.arpa",
	} {
		for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA, dnsmessage.TypeTXT, dnsmessage.TypeCNAME,
			dnsmessage.TypeMX, dnsmessage.TypeNS, dnsmessage.TypeALL} {
			m := ask(t, s, strings.TrimSuffix(name, ".")+".", kind)
			assert.Equal(t, dnsmessage.RCodeNameError, m.RCode, "%s %s", name, kind)
			assert.Empty(t, m.Answers, "%s %s", name, kind)
		}
	}
	for _, odd := range []string{"a\x00.example.org.", "a b.example.org.", "a\\.example.org.", "a%00.example.org.", "a/b.example.org.",
		"a\n.example.org.", "\xd0\xb5xact.example.com.", "a@b.example.org.", "a'.example.org.", "a\".example.org.", "*.example.org.",
		"a:80.example.org."} {
		m := ask(t, s, odd, dnsmessage.TypeA)
		assert.Equal(t, dnsmessage.RCodeNameError, m.RCode, "%q", odd)
	}
	for _, name := range []string{"a.example.org.", "a.b.c.example.org.", "exact.example.com.", "EXACT.EXAMPLE.COM.", "db.",
		secret + ".example.org."} {
		assert.Len(t, ask(t, s, name, dnsmessage.TypeA).Answers, 1, "control: %s", name)
	}
	assert.Zero(t, lookups.Load(), "a lookup leads to no lookup outside")
}

// A false server name in TLS is refused at each port; the true one, the control, passes.
func TestLiesInTLS(t *testing.T) {
	reached := make(chan string, 100)
	upstream := listen(t, func(conn net.Conn) {
		_ = tls.Server(conn, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			reached <- h.ServerName
			return nil, errRead
		}}).Handshake()
		_ = conn.Close()
	})
	hello := func(s *Server, port uint16, sni string) {
		conn := connect(t, s, s.addressFor(t, "a.example.org", port))
		_ = tls.Client(conn, &tls.Config{ServerName: sni, InsecureSkipVerify: true}).Handshake()
		_ = conn.Close()
	}
	for _, port := range []uint16{80, 443, 8443, 22} {
		s, log := newServer(t, upstream, "a.example.org", "*.example.org", fmt.Sprintf("a.example.org:%d", port))
		for i, sni := range []string{"b.example.org", "evil.example", "example.org", "x.a.example.org", "a.example.org.evil.example",
			"a.example.or", "aa.example.org", "localhost", "metadata.google.internal", "a-example.org", "www.a.example.org",
			"a.example.org.x", "db", "a.exampleorg"} {
			hello(s, port, sni)
			require.Eventually(t, func() bool { list, _ := log.Connections(); return len(list) == i+1 }, 10*time.Second,
				time.Millisecond, "%s at %d", sni, port)
			assert.Empty(t, reached, "%s at %d", sni, port)
		}
		hello(s, port, "A.example.org")
		assert.Equal(t, "A.example.org", testproc.Receive(t, reached), "control")
	}
}

// A name that leads to a forbidden address is refused, however that is found: at a second lookup, mapped, by a
// proxy or without.
func TestNamesThatLeadInward(t *testing.T) {
	var dialled atomic.Int64
	inward := []string{"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "100.100.100.200",
		"168.63.129.16", "224.0.0.1", "255.255.255.255", "198.18.0.1", "198.19.255.255", "192.0.0.1", "240.0.0.1", "::1", "::",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1",
		"fe80::1", "ff02::1", "fd00:ec2::254", "fec0::1", "2001::1", "100::1", "9.9.9.9"}
	private := []string{"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1"}
	try := func(entry *Entry, addrs ...string) error {
		d := &Dialer{
			Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("9.9.9.9")} },
			Resolve: func(context.Context, string) (all []netip.Addr, err error) {
				for _, a := range addrs {
					all = append(all, netip.MustParseAddr(a))
				}
				return all, nil
			},
			Dial: func(context.Context, netip.AddrPort) (net.Conn, error) { dialled.Add(1); return nil, errRead },
		}
		_, _, err := d.connect(t.Context(), entry, "a.example", netip.Addr{}, 443)
		return err
	}
	exact := &Entry{Name: "a.example"}
	others := []*Entry{{Name: "example", Below: true}, {Ask: true}}
	var refused *refusal
	for _, addr := range inward {
		for _, entry := range append(others, exact) {
			assert.ErrorAs(t, try(entry, addr), &refused, addr)
			assert.ErrorAs(t, try(entry, "8.8.8.8", addr), &refused, "beside another: %s", addr)
			assert.ErrorAs(t, try(entry, addr, "8.8.8.8"), &refused, "before another: %s", addr)
		}
	}
	for _, addr := range private {
		for _, entry := range others {
			assert.ErrorAs(t, try(entry, addr), &refused, addr)
			assert.ErrorAs(t, try(entry, "8.8.8.8", addr), &refused, addr)
		}
	}
	assert.Zero(t, dialled.Load())
	for _, addr := range private {
		assert.ErrorIs(t, try(exact, addr), errRead, "control: %s", addr)
	}
	for _, entry := range append(others, exact) {
		assert.ErrorIs(t, try(entry, "8.8.8.8"), errRead, "control")
	}
	assert.NotZero(t, dialled.Load())
}
