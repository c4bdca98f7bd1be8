package netguard

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"

	"github.com/toolhost/toolhost/host/tool"
)

// allowed is what the owner lets the client reach beyond the public web.
type allowed struct {
	prefixes []netip.Prefix
	hosts    map[string]bool
}

func parseAllow(entries []string) (*allowed, error) {
	a := &allowed{hosts: make(map[string]bool)}
	for _, entry := range entries {
		if err := a.add(entry); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *allowed) add(entry string) error {
	if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		addr = addr.Unmap().WithZone("")
		a.prefixes = append(a.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		a.prefixes = append(a.prefixes, prefix.Masked())
		return nil
	}
	host, err := asciiHost(entry)
	if err != nil || !isHostName(host) || endsInNumber(host) {
		return tool.Errorf(tool.InvalidArgument, "cannot allow %q: it is no address, no address range and no host name",
			entry).
			Suggest(`Write an address ("127.0.0.1"), a range ("10.0.0.0/8") or a host name ("intranet.example"), without scheme and port.`)
	}
	a.hosts[host] = true
	return nil
}

func (a *allowed) addr(addr netip.Addr) bool {
	addr = addr.WithZone("")
	for _, p := range a.prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

func (a *allowed) host(host string) bool {
	ascii, err := asciiHost(host)
	return err == nil && a.hosts[ascii]
}

// asciiHost is host as it is looked up: lower case, punycode, no final dot.
func asciiHost(host string) (string, error) {
	host = strings.TrimSuffix(host, ".")
	for i := range len(host) {
		if host[i] >= 0x80 {
			return idna.Lookup.ToASCII(host)
		}
	}
	return strings.ToLower(host), nil
}

// isHostName reports whether host is made of the characters of host names.
func isHostName(host string) bool {
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

// endsInNumber reports whether a reader of URLs would take host for an IPv4
// address in one of its many spellings: 2130706433, 0x7f.1, 0177.0.0.1.
func endsInNumber(host string) bool {
	label := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}
