// Package loopback says which hosts are this machine, by what they are called:
// nothing on the way to them can read or change what is sent.
package loopback

import (
	"net/netip"
	"strings"
)

// Is reports whether host, a name or an address without brackets or port, is
// this machine. No name but localhost is looked up or believed.
func Is(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
