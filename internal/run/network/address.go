package network

import (
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/idna"
)

// block is a range of addresses that are not public.
type block struct {
	prefix string
	reason string
}

// blocks returns the refused ranges, narrow ones first, by IANA's special-purpose registries; the last IPv4
// entry is a cloud's metadata address, public though it looks.
func blocks() []block {
	return []block{
		{"127.0.0.0/8", "loopback"},
		{"10.0.0.0/8", "private"},
		{"172.16.0.0/12", "private"},
		{"192.168.0.0/16", "private"},
		{"169.254.0.0/16", "link-local"},
		{"100.64.0.0/10", "shared address space"},
		{"0.0.0.0/8", "unspecified"},
		{"192.0.0.0/24", "reserved"},
		{"192.0.2.0/24", "documentation"},
		{"198.51.100.0/24", "documentation"},
		{"203.0.113.0/24", "documentation"},
		{"192.88.99.0/24", "6to4 relay"},
		{"198.18.0.0/15", "benchmarking"},
		{"224.0.0.0/4", "multicast"},
		{"240.0.0.0/4", "reserved"},
		{"168.63.129.16/32", "cloud metadata"},

		{"::1/128", "loopback"},
		{"::/128", "unspecified"},
		{"::/96", "IPv4-compatible"},
		{"::ffff:0:0/96", "IPv4-mapped"},
		{"::ffff:0:0:0/96", "IPv4-translated"},
		{"64:ff9b::/96", "NAT64"},
		{"64:ff9b:1::/48", "NAT64"},
		{"100::/64", "discard-only"},
		{"2001::/32", "Teredo"},
		{"2001:2::/48", "benchmarking"},
		{"2001::/23", "reserved"},
		{"2001:db8::/32", "documentation"},
		{"2002::/16", "6to4"},
		{"3fff::/20", "documentation"},
		{"5f00::/16", "segment routing"},
		{"fc00::/7", "unique local"},
		{"fe80::/10", "link-local"},
		{"fec0::/10", "site-local"},
		{"ff00::/8", "multicast"},
	}
}

// refusedRange is a parsed block.
type refusedRange struct {
	prefix netip.Prefix
	reason string
}

var refusedRanges = sync.OnceValue(func() (ranges []refusedRange) {
	for _, b := range blocks() {
		ranges = append(ranges, refusedRange{netip.MustParsePrefix(b.prefix), b.reason})
	}
	return ranges
})

// NotPublic returns why an address is not public, "" if it is. Of IPv6 only global unicast, 2000::/3, is
// public.
func NotPublic(addr netip.Addr) string {
	addr = addr.WithZone("")
	for _, r := range refusedRanges() {
		if r.prefix.Contains(addr) {
			return r.reason
		}
	}
	if addr.Is6() && addr.As16()[0]>>5 != 1 {
		return "reserved"
	}
	return ""
}

// HostName returns host as it is looked up: lower case, punycode, no final dot.
func HostName(host string) (string, error) {
	host = strings.TrimSuffix(host, ".")
	for i := range len(host) {
		if host[i] >= 0x80 {
			return idna.Lookup.ToASCII(host)
		}
	}
	return strings.ToLower(host), nil
}

// IsHostName reports whether host consists of the characters of host names.
func IsHostName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for _, label := range strings.Split(host, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// EndsInNumber reports whether URL parsers would take host for an IPv4 address in one of its many spellings:
// 2130706433, 0x7f.1, 0177.0.0.1.
func EndsInNumber(host string) bool {
	label := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}
