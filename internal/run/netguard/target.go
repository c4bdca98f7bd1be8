package netguard

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Check reports whether a fetch of the URL would be refused, without resolving its host. Errors are those of
// Fetch.
func (c *Client) Check(rawURL string) error {
	_, err := c.parseTarget(rawURL)
	return err
}

func (c *Client) parseTarget(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, badURL(raw, "it cannot be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, badURL(raw, "it does not start with http:// or https://")
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return nil, badURL(raw, "it names no host")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, c.checkTarget(u)
}

func badURL(raw, why string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "invalid URL %q: %s", truncate.Shorten(raw, 200), why).
		Suggest("Give a whole URL such as https://www.example.com/page.")
}

// checkTarget refuses a URL that is forbidden as written. The address is checked when dialled.
func (c *Client) checkTarget(u *url.URL) error {
	if u.User != nil {
		return tool.Errorf(tool.InvalidArgument, "the URL for host %s holds a user name or password", u.Hostname()).
			Suggest("Leave the part before '@' out.")
	}
	host, err := network.HostName(u.Hostname())
	if err != nil {
		return badURL(u.Hostname(), "its host is not a valid name")
	}
	port, err := portOf(u)
	if err != nil {
		return err
	}
	if c.allow.host(host) {
		return nil
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return c.checkAddr(addr, port)
	}
	if network.EndsInNumber(host) {
		return refuse(host, "is an unusual spelling of an address").
			Suggest("Write the address as four decimal numbers, or use a host name.")
	}
	if !c.portOpen(port) && len(c.allow.prefixes) == 0 {
		return refusePort(host, port)
	}
	return nil
}

func (c *Client) checkAddr(addr netip.Addr, port int) error {
	if c.allow.addr(addr) {
		return nil
	}
	if reason := network.NotPublic(addr); reason != "" {
		return refuse(addr.String(), "is not a public address ("+reason+")")
	}
	if !c.portOpen(port) {
		return refusePort(addr.String(), port)
	}
	return nil
}

func (c *Client) portOpen(port int) bool { return slices.Contains(c.opts.Ports, port) }

func portOf(u *url.URL) (int, error) {
	if u.Port() == "" {
		if u.Scheme == "https" {
			return 443, nil
		}
		return 80, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, badURL(u.String(), "its port is not between 1 and 65535")
	}
	return int(port), nil
}

func refuse(host, why string) *tool.Error {
	return tool.Errorf(tool.Blocked, "%s %s", host, why).
		Suggest("Use a public host. The user can open this one by adding it to web.allow in agent.hcl.").
		With("host", host)
}

func refusePort(host string, port int) *tool.Error {
	return tool.Errorf(tool.Blocked, "port %d of %s is not a port of the web", port, host).
		Suggest("Use the ports 80 and 443. The user can open the host by adding it to web.allow in agent.hcl.").
		With("host", host).With("port", port)
}
