// Package loopback recognizes hosts that are this machine: nothing on the way can read or change what is sent.
package loopback

import (
	"net/netip"
	"strings"
)

// Is reports whether host, a name or an address without brackets or port, is this machine. The only trusted
// name is localhost.
func Is(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
