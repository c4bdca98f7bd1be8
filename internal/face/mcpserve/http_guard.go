package mcpserve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/loopback"
)

// refusal is why a request is refused, and what to do instead.
type refusal struct {
	status        int
	message, next string
	header        map[string]string
	id            json.RawMessage // of the message; nil if absent or not read
}

func refuse(status int, message, next string) *refusal {
	return &refusal{status: status, message: message, next: next}
}

// Refuse answers a refused request in the form that MCP clients show.
func Refuse(w http.ResponseWriter, status int, err *tool.Error, header map[string]string) {
	no := refuseError(status, err)
	no.header = header
	no.write(w)
}

func refuseError(status int, err error) *refusal {
	e := tool.AsError(err)
	return refuse(status, e.Message, e.Suggestion)
}

// write sends the refusal as a JSON-RPC error, which MCP clients show.
func (no *refusal) write(w http.ResponseWriter) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": no.id,
		"error": map[string]any{"code": -32000, "message": no.message + ". " + no.next},
	})
	if err != nil {
		body = nil
	}
	for name, value := range no.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(no.status)
	_, _ = w.Write(append(body, '\n'))
}

// guard decides which requests are served. A page in the user's browser reaches every local server and,
// by DNS rebinding, as the same origin. So the Host must be one of this server's, and the Origin, which
// browsers send, must be known.
type guard struct {
	hosts, origins []string
	token          [sha256.Size]byte
	needsToken     bool
}

func newGuard(o HTTPOptions) *guard {
	g := &guard{needsToken: o.Token != "", token: sha256.Sum256([]byte(o.Token))}
	for _, name := range o.Hosts {
		g.hosts = append(g.hosts, strings.ToLower(strings.TrimSuffix(name, ".")))
	}
	for _, origin := range o.Origins {
		g.origins = append(g.origins, strings.ToLower(strings.TrimSuffix(origin, "/")))
	}
	return g
}

// check refuses a request, answers a browser's preflight, or lets it pass.
func (g *guard) check(w http.ResponseWriter, r *http.Request) (answered bool, no *refusal) {
	if no := g.checkHost(r); no != nil {
		return false, no
	}
	if no := g.checkOrigin(w, r); no != nil {
		return false, no
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", "GET, POST, DELETE, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return true, nil
	}
	return false, g.checkToken(r)
}

// checkHost refuses a Host that others could point at this machine.
func (g *guard) checkHost(r *http.Request) *refusal {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && local.Network() == "unix" {
		return nil
	}
	name := hostName(r.Host)
	if slices.Contains(g.hosts, name) || loopback.Is(name) {
		return nil
	}
	_, err := netip.ParseAddr(name)
	if err == nil && local != nil && !loopback.Is(hostName(local.String())) {
		return nil // an IP address cannot be rebound
	}
	return refuse(http.StatusForbidden, fmt.Sprintf("the Host %q is not served here", r.Host),
		"Use the address that the server was started with, or allow the name with --allow-host.")
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// checkOrigin refuses requests from pages of other origins.
func (g *guard) checkOrigin(w http.ResponseWriter, r *http.Request) *refusal {
	given := r.Header.Values("Origin")
	if len(given) == 0 {
		return nil
	}
	if len(given) == 1 && g.knowsOrigin(strings.ToLower(given[0]), r) {
		allowOrigin(w.Header(), r)
		return nil
	}
	return refuse(http.StatusForbidden,
		fmt.Sprintf("pages of the origin %q may not use this server", strings.Join(given, ", ")),
		"Start the server with --allow-origin for it, if you trust that page.")
}

func (g *guard) knowsOrigin(origin string, r *http.Request) bool {
	if slices.Contains(g.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	if u.Host == strings.ToLower(r.Host) {
		return true
	}
	_, port, _ := net.SplitHostPort(r.Host)
	return loopback.Is(hostName(u.Host)) && loopback.Is(hostName(r.Host)) && u.Port() == port
}

// allowOrigin lets a page send the request and read the answer.
func allowOrigin(header http.Header, r *http.Request) {
	header.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	header.Add("Vary", "Origin")
	header.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, MCP-Protocol-Version")
	if r.Method == http.MethodOptions {
		header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	}
}

func (g *guard) checkToken(r *http.Request) *refusal {
	if !g.needsToken {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return nil
	}
	no := refuse(http.StatusUnauthorized, "the request has no valid token",
		"Send the server's token in the header Authorization: Bearer TOKEN.")
	no.header = map[string]string{"WWW-Authenticate": `Bearer realm="toolhost"`}
	return no
}

// MinToken is the least length of a token, in characters.
const MinToken = 16

// IsToken reports whether text can be a server's token: one word of printable ASCII, long enough.
func IsToken(text string) bool {
	return len(text) >= MinToken && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// IsLocal reports whether only this machine can reach an address. A server without a token must listen
// at such a one.
func IsLocal(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
