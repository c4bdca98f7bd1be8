package netguard

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// checkRedirect decides whether to follow a redirect to req after the requests via.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > max(c.opts.MaxRedirects, 0) {
		return tool.Errorf(tool.Unavailable, "%s redirects more than %d times", via[0].URL.Host,
			max(c.opts.MaxRedirects, 0)).
			Suggest("The page redirects in a circle, or wants a login. Fetch another page.")
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return refuse(via[0].URL.Host, "redirects to a "+req.URL.Scheme+" URL").
			Suggest("Only http and https are followed. Fetch another page.")
	}
	if err := c.checkTarget(req.URL); err != nil {
		return redirected(err, via[len(via)-1].URL)
	}
	req.Header.Del("Referer")
	if leftOrigin(req, via) {
		return crossOrigin(req)
	}
	return nil
}

// redirected says that the refused address came from a redirect.
func redirected(err error, from *url.URL) error {
	e := tool.AsError(err)
	r := tool.Errorf(tool.Blocked, "redirect from %s refused: %s", from.Host, e.Message).Suggest("%s", e.Suggestion)
	r.Details = e.Details
	return r
}

// leftOrigin reports whether any hop went to another scheme, host or port. Headers dropped then stay dropped.
func leftOrigin(req *http.Request, via []*http.Request) bool {
	first := origin(via[0].URL)
	for _, hop := range via[1:] {
		if origin(hop.URL) != first {
			return true
		}
	}
	return origin(req.URL) != first
}

func origin(u *url.URL) string {
	host, _ := network.HostName(u.Hostname())
	port, _ := portOf(u)
	return u.Scheme + "://" + host + ":" + strconv.Itoa(port)
}

// crossOrigin keeps only headers without information on the caller, and refuses to send a body to another host.
func crossOrigin(req *http.Request) error {
	if req.Body != nil && req.Body != http.NoBody {
		return refuse(req.URL.Host, "is another host than the one that the request's body is for").
			Suggest("Send the request to the final address itself.")
	}
	kept := make(http.Header)
	for _, name := range []string{"Accept", "Accept-Language", "User-Agent", "If-None-Match", "If-Modified-Since"} {
		if values := req.Header.Values(name); len(values) > 0 {
			kept[name] = values
		}
	}
	req.Header = kept
	return nil
}
