package console

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

// at is a console of a new user.
func at(t *testing.T) *Server {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
		"LOCALAPPDATA", "APPDATA"} {
		t.Setenv(name, home)
	}
	s, err := Listen("0", Options{Toolhost: "/none", Version: "v0", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(ctx)
	}()
	t.Cleanup(func() { stop(); testproc.Receive(t, ended, "the end of the console") }) // before the home is removed
	return s
}

// own returns a request as the console's page makes it.
func own(s *Server, method, path, body string, page *http.Response, key string) *http.Request {
	r := httptest.NewRequest(method, "http://"+s.guard.host+path, strings.NewReader(body))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Sec-Fetch-Mode", "cors")
	r.Header.Set("Sec-Fetch-Dest", "empty")
	if method == http.MethodPost {
		r.Header.Set("Origin", "http://"+s.guard.host)
		r.Header.Set("Content-Type", "application/json")
	}
	if page != nil {
		for _, c := range page.Cookies() {
			r.AddCookie(c)
		}
		r.Header.Set(keyHeader, key)
	}
	return r
}

func document1(s *Server) *http.Request {
	r := own(s, http.MethodGet, "/", "", nil, "")
	r.Header.Set("Sec-Fetch-Site", "none")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Dest", "document")
	return r
}

func answer(s *Server, r *http.Request) (*http.Response, string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	return w.Result(), string(body)
}

// enter opens a session as the page does.
func enter(t *testing.T, s *Server) (*http.Response, string) {
	t.Helper()
	_, code, _ := strings.Cut(s.Address(), "#code=")
	page, body := answer(s, own(s, http.MethodPost, "/api/session", `{"code":"`+code+`"}`, nil, ""))
	require.Equal(t, http.StatusOK, page.StatusCode, body)
	return page, regexp.MustCompile(`"key":"(\w+)"`).FindStringSubmatch(body)[1]
}

// known is a route that needs a session and ends at once.
const known = "/api/pending?space=none"

// Each foreign request is refused without information; the same request without what makes it foreign
// is the control.
func TestRequestsThatThePageDoesNotMake(t *testing.T) {
	s := at(t)
	page, key := enter(t, s)
	reading := func() *http.Request { return own(s, "GET", known, "", page, key) }
	acting := func() *http.Request {
		return own(s, "POST", "/api/decide", `{"space":"none","verdict":"once"}`, page, key)
	}
	for name, control := range map[string]func() *http.Request{"reading": reading, "acting": acting} {
		r, body := answer(s, control())
		require.Equal(t, http.StatusNotFound, r.StatusCode, "%s: %s", name, body)
		require.Contains(t, body, "there is no workspace", name)
	}
	r, _ := answer(s, document1(s))
	require.Equal(t, http.StatusOK, r.StatusCode)

	port := portOf(s.guard.host)
	set := func(make func() *http.Request, name, value string) func() *http.Request {
		return func() *http.Request { r := make(); r.Header.Set(name, value); return r }
	}
	without := func(make func() *http.Request, name string) func() *http.Request {
		return func() *http.Request { r := make(); r.Header.Del(name); return r }
	}
	host := func(make func() *http.Request, host string) func() *http.Request {
		return func() *http.Request { r := make(); r.Host = host; return r }
	}
	method := func(make func() *http.Request, m string) func() *http.Request {
		return func() *http.Request { r := make(); r.Method = m; return r }
	}
	doc := func() *http.Request { return document1(s) }
	attacks := map[string]func() *http.Request{
		"a name that leads here by DNS":      host(reading, "evil.example:"+port),
		"the same for the page":              host(doc, "evil.example:"+port),
		"a name for this machine":            host(reading, "localhost:"+port),
		"a name below localhost":             host(reading, "127.0.0.1.localhost:"+port),
		"a name that begins as the address":  host(reading, "127.0.0.1.evil.example:"+port),
		"the address without the port":       host(reading, "127.0.0.1"),
		"the address with another port":      host(reading, "127.0.0.1:1"),
		"another loopback address":           host(reading, "127.0.0.2:"+port),
		"the address in IPv6":                host(reading, "[::1]:"+port),
		"the address as a number":            host(reading, "2130706433:"+port),
		"no Host":                            host(reading, ""),
		"a Host with a dot at its end":       host(reading, "127.0.0.1.:"+port),
		"a Host with a user":                 host(reading, "me@127.0.0.1:"+port),
		"reading from another site":          set(reading, "Sec-Fetch-Site", "cross-site"),
		"reading from another port":          set(reading, "Sec-Fetch-Site", "same-site"),
		"reading typed into the address bar": set(reading, "Sec-Fetch-Site", "none"),
		"reading by a link":                  set(reading, "Sec-Fetch-Mode", "navigate"),
		"reading without Sec-Fetch-Site":     without(reading, "Sec-Fetch-Site"),
		"an EventSource of another site": set(set(reading, "Sec-Fetch-Site", "cross-site"), "Accept",
			"text/event-stream"),
		"a WebSocket of another site": set(set(reading, "Sec-Fetch-Site", "cross-site"), "Upgrade",
			"websocket"),
		"reading with another Origin":              set(reading, "Origin", "http://evil.example"),
		"reading with the Origin null":             set(reading, "Origin", "null"),
		"acting with another Origin":               set(acting, "Origin", "http://evil.example"),
		"acting with the Origin of another port":   set(acting, "Origin", "http://127.0.0.1:1"),
		"acting with the Origin of another scheme": set(acting, "Origin", "https://"+s.guard.host),
		"acting with the Origin null":              set(acting, "Origin", "null"),
		"acting with an empty Origin":              set(acting, "Origin", ""),
		"acting with a longer Origin":              set(acting, "Origin", "http://"+s.guard.host+".evil.example"),
		"acting without an Origin":                 without(acting, "Origin"),
		"acting from another site":                 set(acting, "Sec-Fetch-Site", "cross-site"),
		"acting without Sec-Fetch-Site":            without(acting, "Sec-Fetch-Site"),
		"acting by a link":                         set(acting, "Sec-Fetch-Mode", "navigate"),
		"a form":                                   set(acting, "Content-Type", "application/x-www-form-urlencoded"),
		"a form with files":                        set(acting, "Content-Type", "multipart/form-data; boundary=x"),
		"a form of plain text":                     set(acting, "Content-Type", "text/plain"),
		"JSON as plain text":                       set(acting, "Content-Type", "text/plain; x=application/json"),
		"no content type":                          without(acting, "Content-Type"),
		"acting by GET":                            method(acting, "GET"),
		"acting by PUT":                            method(acting, "PUT"),
		"reading by POST":                          method(reading, "POST"),
		"reading by HEAD":                          method(reading, "HEAD"),
		"a preflight": method(set(acting, "Access-Control-Request-Method", "POST"),
			"OPTIONS"),
		"TRACE":                 method(reading, "TRACE"),
		"no cookie":             without(reading, "Cookie"),
		"acting with no cookie": without(acting, "Cookie"),
		"no key":                without(reading, keyHeader),
		"acting with no key":    without(acting, keyHeader),
		"the key of another":    set(reading, keyHeader, strings.Repeat("0", 64)),
		"a cookie that is guessed": set(reading, "Cookie",
			s.guard.cookieName()+"="+strings.Repeat("0", 64)),
		"the key as the cookie":              set(reading, "Cookie", s.guard.cookieName()+"="+key),
		"the page in a frame":                set(doc, "Sec-Fetch-Dest", "iframe"),
		"the page in an object":              set(doc, "Sec-Fetch-Dest", "object"),
		"the page fetched":                   set(doc, "Sec-Fetch-Mode", "cors"),
		"a link to the page on another site": set(doc, "Sec-Fetch-Site", "cross-site"),
		"a link to the page on another port": set(doc, "Sec-Fetch-Site", "same-site"),
		"a program that is no browser":       without(doc, "Sec-Fetch-Site"),
	}
	led := func() *http.Request {
		r := document1(s)
		r.URL.Path = entrancePath
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		return r
	}
	attacks["a link to where no file leads"] = led
	require.GreaterOrEqual(t, len(attacks), 50)
	for name, request := range attacks {
		t.Run(name, func(t *testing.T) {
			r, body := answer(s, request())
			assert.Contains(t, []int{401, 403, 405, 415}, r.StatusCode, body)
			assert.NotContains(t, body, "workspace")
			assert.NotContains(t, body, "<html")
			assert.Empty(t, r.Header.Get("Access-Control-Allow-Origin"))
			assert.Empty(t, r.Cookies())
			assert.Empty(t, r.Header.Get("Location"))
		})
	}
	r, _ = answer(s, reading())
	assert.Equal(t, http.StatusNotFound, r.StatusCode, "the session still holds")
}

func TestTwoCookieHeadersOrOriginsAreNotMixed(t *testing.T) {
	s := at(t)
	page, key := enter(t, s)
	r := own(s, "POST", "/api/decide", "{}", page, key)
	r.Header.Add("Origin", "http://evil.example")
	got, _ := answer(s, r)
	assert.Equal(t, http.StatusForbidden, got.StatusCode)
	r = own(s, "GET", known, "", page, key)
	r.Header.Add("Sec-Fetch-Site", "cross-site")
	got, _ = answer(s, r)
	assert.Equal(t, http.StatusForbidden, got.StatusCode)
}

// A cookie and a key of different sessions open nothing: a server on another port of this machine
// receives the cookie, but not the key.
func TestCookieOfOneAndKeyOfAnother(t *testing.T) {
	s := at(t)
	page, key := enter(t, s)
	other, otherKey := enter(t, s)
	for _, pair := range []struct {
		page *http.Response
		key  string
		want int
	}{{page, key, 404}, {other, otherKey, 404}, {page, otherKey, 401}, {other, key, 401}} {
		r, _ := answer(s, own(s, "GET", known, "", pair.page, pair.key))
		assert.Equal(t, pair.want, r.StatusCode)
	}
	second := at(t)
	r, _ := answer(second, own(second, "GET", known, "", page, key))
	assert.Equal(t, http.StatusUnauthorized, r.StatusCode, "a session of another console")
}

func TestCodes(t *testing.T) {
	s := at(t)
	now := time.Now()
	s.guard.now = func() time.Time { return now }
	code := func() string { _, c, _ := strings.Cut(s.Address(), "#code="); return c }
	try := func(c string) int {
		r, body := answer(s, own(s, "POST", "/api/session", `{"code":"`+c+`"}`, nil, ""))
		assert.NotContains(t, body, c+"x")
		return r.StatusCode
	}
	first := code()
	assert.Len(t, first, 64)
	assert.Equal(t, 200, try(first))
	assert.Equal(t, 403, try(first), "used twice")
	old := code()
	fresh := code()
	assert.Equal(t, 403, try(old), "another address was printed since")
	for _, guess := range []string{"", "0", strings.Repeat("0", 64), fresh[:63], fresh + "0",
		strings.ToUpper(fresh) + " "} {
		assert.Equal(t, 403, try(guess), "%q", guess)
	}
	assert.Equal(t, 200, try(fresh), "guesses of others do not use it up")
	late := code()
	now = now.Add(codeTime)
	assert.Equal(t, 403, try(late), "too old")
}

func TestCookieAndHeaders(t *testing.T) {
	s := at(t)
	page, key := enter(t, s)
	set := page.Header.Get("Set-Cookie")
	assert.Contains(t, set, "HttpOnly")
	assert.Contains(t, set, "SameSite=Strict")
	assert.NotContains(t, set, "Domain")
	assert.NotContains(t, set, key)
	for path, request := range map[string]*http.Request{"/": document1(s),
		"/app.js": own(s, "GET", "/app.js", "", nil, ""),
		known:     own(s, "GET", known, "", page, key), "refused": own(s, "GET", known, "", nil, ""),
		"missing": own(s, "GET", "/etc/passwd", "", page, key)} {
		r, body := answer(s, request)
		policy := r.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'none'",
			"base-uri 'none'", "script-src 'self';", "trusted-types 'none'"} {
			assert.Contains(t, policy, part, path)
		}
		assert.NotContains(t, policy, "unsafe", path)
		assert.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"), path)
		assert.Equal(t, "DENY", r.Header.Get("X-Frame-Options"), path)
		assert.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"), path)
		assert.Equal(t, "no-store", r.Header.Get("Cache-Control"), path)
		assert.NotContains(t, body, key, path)
	}
}

// A route without a kind is not served.
func TestEveryRouteSaysWhatItDemands(t *testing.T) {
	s := at(t)
	page, key := enter(t, s)
	for path, to := range s.routes {
		assert.NotZero(t, to.kind, path)
		if to.kind == reading || to.kind == acting {
			method := map[kind]string{reading: "GET", acting: "POST"}[to.kind]
			r, _ := answer(s, own(s, method, path, "{}", nil, ""))
			assert.Equal(t, http.StatusUnauthorized, r.StatusCode, path)
		}
	}
	s.routes["/forgotten"] = route{answer: func(w http.ResponseWriter, _ *http.Request) error {
		return give(w, "secret", nil)
	}}
	_, body := answer(s, own(s, "GET", "/forgotten", "", page, key))
	assert.NotContains(t, body, "secret")
}

// Nothing of the page comes from elsewhere or is inline, and its code makes no markup of texts.
func TestPageIsWhole(t *testing.T) {
	for _, name := range []string{"index.html", "app.css", "app.js"} {
		data, err := built.ReadFile("built/" + name)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(data), "http://www.w3.org/", "")
		assert.Empty(t, regexp.MustCompile(`https?://|@import|\beval\(|new Function`).FindString(text), name)
	}
	html, err := built.ReadFile("built/index.html")
	require.NoError(t, err)
	assert.NotRegexp(t, `<script>|<style|\son\w+=|style=`, string(html))
	sources, err := filepath.Glob("page/*.js*")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, name := range sources {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Empty(t, regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacent|document\.write|srcdoc|javascript:`).
			FindString(string(data)), name)
	}
}
