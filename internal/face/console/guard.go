package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"mime"
	"net/http"
	"sync"
	"time"
)

// kind is what a request must prove. Each kind demands things that the ones before it do not.
type kind int

const (
	// document is the page itself, which holds no secret.
	document kind = iota + 1
	// asset is a part of the page.
	asset
	// exchange trades a code for a cookie and a key.
	exchange
	// reading and acting need both.
	reading
	acting
	// entrance is the page for a browser that a file directed here, as from another site. It exists
	// while such a file does.
	entrance
)

// entrancePath is where such a file leads.
const entrancePath = "/open"

const (
	keyHeader = "X-Toolhost-Key"
	codeTime  = 10 * time.Minute
	mostBody  = 4 << 20
)

// headers are sent with every answer.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
		"img-src 'self' data:; media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'",
	"X-Frame-Options":              "DENY",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Permissions-Policy":           "camera=(), microphone=(), geolocation=(), clipboard-read=()",
	"Cache-Control":                "no-store",
}

// guard decides which requests are answered. Other pages in the user's browser and confined commands
// with network access can send some too.
type guard struct {
	host string // the only host served, with its port

	mu    sync.Mutex
	codes map[[sha256.Size]byte]time.Time // expiry of each code
	// leave removes the file that leads to the newest code; nil if there is none.
	leave func()
	// cookies map to the page's key: a browser sends cookies to every port of this machine, but the key
	// only to this one.
	cookies map[[sha256.Size]byte][sha256.Size]byte
	now     func() time.Time
}

func newGuard(host string) *guard {
	return &guard{host: host, codes: make(map[[sha256.Size]byte]time.Time),
		cookies: make(map[[sha256.Size]byte][sha256.Size]byte), now: time.Now}
}

// secret returns an unguessable text and its hash to store.
func secret() (text string, sum [sha256.Size]byte) {
	var b [32]byte
	rand.Read(b[:])
	text = hex.EncodeToString(b[:])
	return text, sha256.Sum256([]byte(text))
}

// newCode returns a code for one exchange and invalidates earlier ones.
func (g *guard) newCode() string {
	text, sum := secret()
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.codes)
	g.left()
	g.codes[sum] = g.now().Add(codeTime)
	return text
}

// lead registers a file that leads to a code. leave removes it, once, when the code is invalid.
func (g *guard) lead(code string, leave func()) {
	sum := sha256.Sum256([]byte(code))
	g.mu.Lock()
	defer g.mu.Unlock()
	if until, ok := g.codes[sum]; !ok || !g.now().Before(until) {
		leave()
		return
	}
	g.left()
	timer := time.AfterFunc(codeTime, func() { g.end(sum) })
	g.leave = func() { timer.Stop(); leave() }
}

// left removes the file that leads to a code. Must be called with mu held.
func (g *guard) left() {
	if g.leave != nil {
		g.leave()
		g.leave = nil
	}
}

func (g *guard) end(sum [sha256.Size]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.codes[sum]; ok {
		g.forget()
	}
}

// forget ends all codes. Must be called with mu held.
func (g *guard) forget() {
	g.codes = make(map[[sha256.Size]byte]time.Time)
	g.left()
}

func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget()
}

func (g *guard) leads() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leave != nil
}

// redeem exchanges a code, once.
func (g *guard) redeem(code string) (cookie, key string, ok bool) {
	sum := sha256.Sum256([]byte(code))
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.codes[sum]
	if !ok || !g.now().Before(until) {
		return "", "", false
	}
	delete(g.codes, sum)
	g.left()
	cookie, cookieSum := secret()
	key, keySum := secret()
	g.cookies[cookieSum] = keySum
	return cookie, key, true
}

// refusal is why a request is refused; nil if it is not.
type refusal struct {
	status        int
	message, next string
}

func refuse(status int, message, next string) *refusal { return &refusal{status, message, next} }

const openAgain = "Open the address that toolhost console prints in a new tab."

// check returns why a request may not be served as kind k.
func (g *guard) check(r *http.Request, k kind) *refusal {
	if r.Host != g.host {
		return refuse(http.StatusForbidden, "this Host is not served here", openAgain)
	}
	if no := g.checkSite(r, k); no != nil {
		return no
	}
	write := k == exchange || k == acting
	if method := map[bool]string{false: http.MethodGet, true: http.MethodPost}[write]; r.Method != method {
		return refuse(http.StatusMethodNotAllowed, "this method is not served here", "Use "+method+".")
	}
	if write {
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
			media != "application/json" {
			return refuse(http.StatusUnsupportedMediaType, "the body is not JSON", "Send application/json.")
		}
	}
	switch k {
	case document, asset, exchange:
		return nil
	case reading, acting:
		if g.known(r) {
			return nil
		}
	case entrance:
		if g.leads() {
			return nil
		}
	}
	return refuse(http.StatusUnauthorized, "this page has no session",
		"Press Enter where toolhost console runs, and open the address that it prints.")
}

// checkSite refuses other sites, frames and programs other than browsers.
func (g *guard) checkSite(r *http.Request, k kind) *refusal {
	no := refuse(http.StatusForbidden, "only the console's own page may ask for this", openAgain)
	site := r.Header.Values("Sec-Fetch-Site")
	if len(site) != 1 {
		return no
	}
	own := site[0] == "same-origin"
	if k == document || k == entrance {
		own = (own || site[0] == "none" || k == entrance) && r.Header.Get("Sec-Fetch-Dest") == "document" &&
			r.Header.Get("Sec-Fetch-Mode") == "navigate"
	} else if r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return no
	}
	origin := r.Header.Values("Origin")
	switch {
	case len(origin) > 1, len(origin) == 1 && origin[0] != "http://"+g.host:
		return no
	case len(origin) == 0 && (k == exchange || k == acting):
		return no
	case !own:
		return no
	}
	return nil
}

// known reports whether the request has a cookie and its key.
func (g *guard) known(r *http.Request) bool {
	key := sha256.Sum256([]byte(r.Header.Get(keyHeader)))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, cookie := range r.CookiesNamed(g.cookieName()) {
		want, ok := g.cookies[sha256.Sum256([]byte(cookie.Value))]
		if ok && subtle.ConstantTimeCompare(want[:], key[:]) == 1 {
			return true
		}
	}
	return false
}

// cookieName includes the port, since the ports of a host share cookies.
func (g *guard) cookieName() string {
	return "toolhost-console-" + portOf(g.host)
}
