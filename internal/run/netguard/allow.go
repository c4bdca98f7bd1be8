package netguard

import (
	"net/netip"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// allowed is what the client may reach beyond the public web.
type allowed struct {
	prefixes []netip.Prefix
	hosts    map[string]bool
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
	host, err := network.HostName(entry)
	if err != nil || !network.IsHostName(host) || network.EndsInNumber(host) {
		return tool.Errorf(tool.InvalidArgument, "cannot allow %q: it is not an address, an address range or a host name",
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
	ascii, err := network.HostName(host)
	return err == nil && a.hosts[ascii]
}
