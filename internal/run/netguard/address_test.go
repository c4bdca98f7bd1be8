package netguard

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/network"
)

func newClient(t *testing.T, opts Options) *Client {
	t.Helper()
	c, err := New(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestReason(t *testing.T) {
	for _, r := range []struct{ addr, want string }{
		{"127.0.0.1", "loopback"}, {"127.255.255.255", "loopback"}, {"::1", "loopback"},
		{"10.0.0.1", "private"}, {"172.16.0.1", "private"}, {"172.31.255.255", "private"}, {"192.168.1.1", "private"},
		{"169.254.169.254", "link-local"}, {"fe80::1", "link-local"}, {"fe80::1%eth0", "link-local"},
		{"100.64.0.1", "shared address space"}, {"100.127.255.255", "shared address space"},
		{"100.100.100.200", "shared address space"},
		{"0.0.0.0", "unspecified"}, {"0.1.2.3", "unspecified"}, {"::", "unspecified"},
		{"192.0.0.192", "reserved"}, {"240.0.0.1", "reserved"}, {"255.255.255.255", "reserved"},
		{"192.0.2.1", "documentation"}, {"198.51.100.1", "documentation"}, {"203.0.113.1", "documentation"},
		{"2001:db8::1", "documentation"}, {"3fff::1", "documentation"},
		{"198.18.0.1", "benchmarking"}, {"198.19.255.255", "benchmarking"}, {"2001:2::1", "benchmarking"},
		{"224.0.0.1", "multicast"}, {"239.255.255.250", "multicast"}, {"ff02::1", "multicast"},
		{"192.88.99.1", "6to4 relay"}, {"168.63.129.16", "cloud metadata"},
		{"::127.0.0.1", "IPv4-compatible"}, {"::8.8.8.8", "IPv4-compatible"},
		{"::ffff:127.0.0.1", "IPv4-mapped"}, {"::ffff:8.8.8.8", "IPv4-mapped"},
		{"::ffff:0:127.0.0.1", "IPv4-translated"},
		{"64:ff9b::7f00:1", "NAT64"}, {"64:ff9b:1::1", "NAT64"},
		{"2002:7f00:1::", "6to4"}, {"2001::1", "Teredo"}, {"2001:10::1", "reserved"},
		{"fd00:ec2::254", "unique local"}, {"fc00::1", "unique local"}, {"fec0::1", "site-local"},
		{"100::1", "discard-only"}, {"5f00::1", "segment routing"}, {"4000::1", "reserved"}, {"200::1", "reserved"},

		{"8.8.8.8", ""}, {"1.1.1.1", ""}, {"172.15.255.255", ""}, {"172.32.0.1", ""}, {"192.167.255.255", ""},
		{"100.63.255.255", ""}, {"100.128.0.1", ""}, {"198.17.0.1", ""}, {"198.20.0.1", ""}, {"223.255.255.255", ""},
		{"9.255.255.255", ""}, {"11.0.0.0", ""}, {"126.255.255.255", ""}, {"128.0.0.1", ""}, {"169.253.0.1", ""},
		{"2606:4700:4700::1111", ""}, {"2001:4860:4860::8888", ""}, {"2a00:1450::1", ""}, {"2001:200::1", ""},
	} {
		assert.Equal(t, r.want, network.NotPublic(netip.MustParseAddr(r.addr)), r.addr)
	}
}

func TestAllowedAddresses(t *testing.T) {
	c := newClient(t, Options{Allow: []string{"127.0.0.1", "10.1.0.0/16", "[fd00::1]", "::ffff:192.168.7.7"}})
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.2": false, "10.1.2.3": true, "10.2.0.1": false,
		"fd00::1": true, "fd00::2": false, "192.168.7.7": true, "::ffff:127.0.0.1": false,
	} {
		err := c.checkAddr(netip.MustParseAddr(addr), 8080)
		assert.Equal(t, want, err == nil, "%s: %v", addr, err)
	}
}

func TestPortsOfPublicAddresses(t *testing.T) {
	c := newClient(t, Options{})
	for port, want := range map[int]bool{80: true, 443: true, 22: false, 8080: false, 25: false, 6379: false} {
		err := c.checkAddr(netip.MustParseAddr("8.8.8.8"), port)
		assert.Equal(t, want, err == nil, "%d: %v", port, err)
	}
	other := newClient(t, Options{Ports: []int{8443}})
	assert.NoError(t, other.checkAddr(netip.MustParseAddr("8.8.8.8"), 8443))
	assert.Error(t, other.checkAddr(netip.MustParseAddr("8.8.8.8"), 443))
}

func TestNoProxyFromTheEnvironment(t *testing.T) {
	assert.Nil(t, newClient(t, Options{}).transport.Proxy)
}
