package attack

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/oauthtest"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Tokens of the login.
const (
	accessToken  = "access-of-the-login-0123456789"
	refreshToken = "refresh-of-the-login-9876543210"
)

// heard is a web server that keeps requests, and answers as told.
type heard struct {
	*httptest.Server
	mu     sync.Mutex
	said   []string
	answer http.HandlerFunc
}

func listenTo(t *testing.T, answer http.HandlerFunc) *heard {
	h := &heard{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		h.mu.Lock()
		h.said = append(h.said, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header, " ", string(body)))
		h.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h.answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.said, "\n")
}

// greets is an MCP server with one tool that returns the token it was sent.
func greets(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
			`"serverInfo":{"name":"up","version":"1"}}}`, m.ID)
	case "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, m.ID, offering(innocent, "greet"))
	case "tools/call":
		text, _ := json.Marshal("you sent " + r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, m.ID, text)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// loggedIn logs the user in to a server, which also issues the tokens.
func (a *arena) loggedIn(server string) {
	a.t.Helper()
	url := server + "/mcp"
	sum := sha256.Sum256([]byte(url + strings.Repeat("\x00", 5)))
	login, err := json.Marshal(map[string]string{"server": url, "resource": url, "issuer": server,
		"token_endpoint": server + "/token", "client_id": "me", "access_token": accessToken,
		"refresh_token": refreshToken, "at": "2026-01-01T00:00:00Z"})
	require.NoError(a.t, err)
	a.write(a.home, "config/toolhost/logins/"+hex.EncodeToString(sum[:16])+".json", string(login), 0o600)
}

func serverBlock(url string) string {
	return fmt.Sprintf("mcp \"up\" {\n  url      = %q\n  protocol = \"2025-06-18\"\n}\n", url+"/mcp")
}

// Wherever a server leads, and however agent.hcl changes, a login's tokens go only to the server that
// they are for, and are never shown.
func TestALoginStaysWithItsServer(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	type leads struct {
		answer  func(thief string) http.HandlerFunc // of the server
		another bool                                // agent.hcl names the thief as the server
	}
	cases := map[string]leads{"another server by the same name": {another: true,
		answer: func(string) http.HandlerFunc { return greets }}}
	for _, status := range []int{301, 302, 303, 307, 308} {
		cases[fmt.Sprint("a redirect by ", status)] = leads{answer: func(thief string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief+"/mcp", status) }
		}}
	}
	cases["a refusal that names another authorization server"] = leads{answer: func(thief string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+thief+`/meta"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "secrets", "a login and "+name)
			thief := listenTo(t, nil)
			thief.answer = func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w,
						`{"resource":%[1]q,"issuer":%[2]q,"authorization_servers":[%[2]q],"token_endpoint":%[3]q,`+
							`"authorization_endpoint":%[3]q,"code_challenge_methods_supported":["S256"]}`,
						thief.URL+"/mcp", thief.URL, thief.URL+"/token")
					return
				}
				greets(w, r)
			}
			server := listenTo(t, c.answer(thief.URL))
			named := server.URL
			if c.another {
				named = thief.URL
			}
			a := newArena(t, map[string]string{"agent.hcl": serverBlock(named)})
			a.loggedIn(server.URL)
			a.arm()
			said := a.everySaying()
			assert.NotContains(t, thief.all(), accessToken)
			assert.NotContains(t, thief.all(), refreshToken)
			assert.NotContains(t, said, accessToken)
			assert.NotContains(t, said, refreshToken)
		})
	}
	server := listenTo(t, greets)
	a := newArena(t, map[string]string{"agent.hcl": serverBlock(server.URL)})
	a.loggedIn(server.URL)
	a.arm()
	said := a.everySaying()
	assert.NotContains(t, said, accessToken)
	assert.Contains(t, said, "you sent Bearer [redacted]", "control: the call was made")
	var found []violation
	if strings.Contains(server.all(), accessToken) {
		found = append(found, violation{checkSecret, "the token was sent"})
	}
	control(t, "secrets", "the server of the login gets its token", checkSecret, found)
}

// everySaying returns all that toolhost prints and records when a server of the project is used, with
// all logs.
func (a *arena) everySaying() string {
	a.t.Helper()
	var all strings.Builder
	for _, args := range [][]string{{"list"}, {"call", "--request-id", "the-call", "greet"},
		{"call", "--json", "greet"},
		{"mcp", "list"}, {"mcp", "list", "--json"}, {"doctor"}, {"events"}, {"show", "the-call"}} {
		out, _ := a.run(nil, append([]string{"--log-level", "debug"}, args...)...)
		all.WriteString(out)
	}
	_ = filepath.WalkDir(a.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, "/logins/") {
			data, _ := os.ReadFile(path)
			all.Write(data)
		}
		return nil
	})
	return all.String()
}

// toTheBrowser is a desktop that notes the page to open.
const toTheBrowser = "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/opened\"\n"

// A server's login information leads to no internal network address, and opens nothing but pages.
func TestWhereALoginLeads(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	inside := "public address"
	for name, c := range map[string]struct {
		change func(s *oauthtest.Server, b *oauthtest.Behaviour)
		says   string
	}{
		"the metadata of a cloud": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Challenge = "https://169.254.169.254/latest/meta-data"
		}, inside},
		"a machine of the network": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Challenge = "https://10.0.0.1/meta"
		}, inside},
		"the same in IPv6": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Challenge = "https://[::ffff:10.0.0.1]/meta"
		}, inside},
		"without TLS": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Challenge = "http://93.184.216.34/meta"
		}, "is not an https URL"},
		"a file": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) { b.Challenge = "file:///etc/passwd" }, ""},
		"an authorization server of the network": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Resource = map[string]any{"authorization_servers": []string{"https://192.168.1.1"}}
		}, inside},
		"a token endpoint of the network": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"token_endpoint": "https://10.0.0.1/token"}
		}, inside},
		"a page that is a script": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"authorization_endpoint": "javascript:alert(1)"}
		}, "javascript"},
		"a page that is a file": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"authorization_endpoint": "file:///etc/passwd"}
		}, ""},
		"a page that is an option": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"authorization_endpoint": "--help"}
		}, ""},
		"a page with control characters": {func(s *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"authorization_endpoint": s.Issuer + "/\x1b[2J\nowned"}
		}, ""},
		"another server's answer": {func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Iss = "https://evil.example"
		}, "and not from"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "web", "a login that leads to "+name)
			said, opened, kept := login(t, c.change)
			assert.Contains(t, said, c.says)
			assert.Empty(t, unseen(said), "%q", said)
			assert.Empty(t, kept, said)
			if name != "another server's answer" {
				assert.Empty(t, opened, said)
			}
		})
	}
	tally.note(tally.controls, "web", "a login where a server means well")
	said, opened, kept := login(t, func(*oauthtest.Server, *oauthtest.Behaviour) {})
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/authorize\?`, opened)
	assert.Len(t, kept, 1, said)
}

// login logs the user in to a server with that behaviour, and returns what the user is shown, the
// opened page and the stored login.
func login(t *testing.T, change func(*oauthtest.Server, *oauthtest.Behaviour)) (said, opened string, kept []string) {
	t.Helper()
	server, stop := oauthtest.New()
	t.Cleanup(stop)
	server.Set(func(b *oauthtest.Behaviour) { change(server, b) })
	a := newArena(t, map[string]string{"agent.hcl": fmt.Sprintf("mcp \"docs\" {\n  url = %q\n}\n", server.URL)})
	a.write(a.home, "bin/xdg-open", toTheBrowser, 0o755)
	a.arm()
	cmd := a.program([]string{"PATH=" + filepath.Join(a.home, "bin") + ":" + os.Getenv("PATH")},
		"mcp", "login", "docs", "--timeout", "60s")
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	page := regexp.MustCompile(`^  (http://\S+/authorize\S*)$`)
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		said += lines.Text() + "\n"
		if m := page.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _ = oauthtest.Visit(t.Context(), m[1]) }()
		}
	}
	_ = cmd.Wait()
	kept, err = filepath.Glob(filepath.Join(a.home, "config/toolhost/logins/*.json"))
	require.NoError(t, err)
	wait := brief // a page is opened without anybody waiting for it
	if len(kept) > 0 {
		wait = patience
	}
	within(wait, func() bool {
		data, _ := os.ReadFile(filepath.Join(a.home, "bin", "opened"))
		opened = string(data)
		return strings.HasSuffix(opened, "\n")
	})
	return said, opened, kept
}
