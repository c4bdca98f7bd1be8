package oauth

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/loopback"
	"github.com/toolhost/toolhost/internal/run/netguard"
)

const (
	// requestTime bounds a request, its redirects and its answer.
	requestTime = 30 * time.Second
	// maxAnswer bounds an answer's body, in bytes after decompression.
	maxAnswer    = 1 << 20
	maxRedirects = 5
)

// web makes all requests except those to the MCP server itself. URLs come from documents that the server wrote or
// named, so they must not lead to places that only this machine can reach: everything is https, at a public address
// and a web port. Also allowed: the MCP server's host; this machine if the MCP server is on it; everything if the
// operator declares the authorization server private.
type web struct {
	guard    *netguard.Client
	loopback bool // allows plain http to this machine
	direct   *http.Transport
	proxied  *http.Transport
	client   *http.Client
}

func newWeb(server *url.URL, private bool) (*web, error) {
	w := &web{loopback: loopback.Is(server.Hostname())}
	allow := []string{server.Hostname()}
	if w.loopback {
		allow = append(allow, "127.0.0.0/8", "::1", "localhost")
	}
	if private {
		allow = append(allow, "0.0.0.0/0", "::/0")
	}
	var err error
	if w.guard, err = netguard.New(netguard.Options{Allow: allow}); err != nil {
		return nil, err
	}
	// Logins are rare: no connections are kept, and none must be closed.
	w.direct = &http.Transport{
		DialContext: w.guard.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 256 << 10,
	}
	w.proxied = w.direct.Clone()
	w.proxied.DialContext, w.proxied.Proxy = nil, http.ProxyFromEnvironment
	w.client = &http.Client{Transport: w, Timeout: requestTime, CheckRedirect: w.redirect}
	return w, nil
}

// check refuses a URL from a document.
func (w *web) check(u *url.URL) error {
	local := w.loopback && loopback.Is(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return tool.Errorf(tool.Blocked, "%s is not an https URL", u.Redacted()).
			Suggest("Tokens travel encrypted only. The operator of the server has to fix this.")
	}
	if err := w.guard.Check(u.String()); err != nil {
		return tool.Errorf(tool.Blocked, "%s: %w", u.Redacted(), err).
			Suggest("If the authorization server is on a network of your own, say private = true in the oauth block.")
	}
	return nil
}

// checkText is check for a URL in text form.
func (w *web) checkText(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return tool.Errorf(tool.Blocked, "%q is not a URL", text).Suggest("The operator of the server has to fix this.")
	}
	return w.check(u)
}

// RoundTrip implements http.RoundTripper. Redirects pass through it too.
func (w *web) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := w.check(request.URL); err != nil {
		return nil, err
	}
	transport := w.direct
	// A proxy connects; it decides which addresses it reaches.
	if proxy, err := http.ProxyFromEnvironment(request); err == nil && proxy != nil {
		transport = w.proxied
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxAnswer), response.Body}
	}
	return response, err
}

// redirect follows only if the request holds no secrets.
func (w *web) redirect(request *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return tool.Errorf(tool.Blocked, "%s redirects a request that carries secrets", via[0].URL.Host)
	case len(via) > maxRedirects:
		return tool.Errorf(tool.Blocked, "%s redirects more than %d times", via[0].URL.Host, maxRedirects)
	}
	return nil
}

// getJSON reads a document; found is false if there is none.
func (w *web) getJSON(ctx context.Context, at string, into any) (found bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || media != "application/json" {
		return false, nil
	}
	return true, json.NewDecoder(response.Body).Decode(into)
}

// plain returns a client for the MCP server itself, wherever it is, since the operator named it, but not
// for its redirects.
func (w *web) plain() *http.Client {
	return &http.Client{Transport: w.proxied, Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
}
