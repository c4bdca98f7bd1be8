// Package oauthtest is an MCP server behind an authorization server, for tests:
// one HTTP server on this machine that is as strict as the standards, and has
// faults on demand.
package oauthtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is the MCP server and its authorization server. Set changes the
// exported fields between requests.
type Server struct {
	// URL is the MCP endpoint, Issuer the authorization server.
	URL, Issuer string

	Behaviour
	mu       sync.Mutex
	clients  map[string]string // secrets by id
	codes    map[string]url.Values
	access   map[string]*family
	refresh  map[string]*family // for one use
	spent    map[string]*family
	counts   map[string]int
	lastSeen url.Values // the last token request
}

// Behaviour is what tests vary. The zero value is a server without faults.
type Behaviour struct {
	// ExpiresIn is the lifetime of an access token in seconds; 0 means 3600.
	ExpiresIn int
	// NoRefresh omits refresh tokens.
	NoRefresh bool
	// Scopes are needed for access, ToolScopes for tools/call.
	Scopes, ToolScopes []string
	// Stubborn refuses tokens with the scopes as if they lacked them.
	Stubborn bool
	// Iss is the issuer in the page's answer; "" means its own, "none" means none.
	Iss string
	// Metadata changes the authorization server's metadata, Resource the MCP
	// server's.
	Metadata, Resource map[string]any
	// Challenge replaces resource_metadata in refusals.
	Challenge string
	// TokenError is what the token endpoint answers.
	TokenError string
	// Secret is that of the client "machine", which may use client credentials.
	// Registration is then refused.
	Secret string
	// Assertion is required for the JWT bearer grant.
	Assertion string
	// Down makes the token endpoint answer 503.
	Down bool
}

// family are all tokens of one login.
type family struct {
	client string
	scopes []string
	dead   bool
}

// New starts a server; stop ends it.
func New() (s *Server, stop func()) {
	s = &Server{
		clients: make(map[string]string), codes: make(map[string]url.Values), counts: make(map[string]int),
		access: make(map[string]*family), refresh: make(map[string]*family), spent: make(map[string]*family),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) { s.count("elsewhere") })
	mux.Handle("/mcp", s.guarded(mcpServer()))
	web := httptest.NewServer(mux)
	s.Issuer, s.URL = web.URL, web.URL+"/mcp"
	return s, web.Close
}

func mcpServer() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "whoami", Description: "Say who calls. Returns: the token.",
		InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you sent " +
				r.Extra.Header.Get("Authorization")}}}, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
}

// Set changes the behaviour.
func (s *Server) Set(change func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.Behaviour)
}

// Count returns how often something was done: "register", "authorize",
// "authorization_code", "refresh_token", "client_credentials", "reuse" (of a
// refresh token), "revoke", "elsewhere", "mcp".
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Last returns the form of the last token request.
func (s *Server) Last() url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastSeen
}

// Revoke revokes all access tokens, but not refresh tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Forget revokes all tokens.
func (s *Server) Forget() {
	s.Revoke()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refresh)
}

func (s *Server) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

func (s *Server) resource(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	writeJSON(w, http.StatusOK,
		with(map[string]any{"resource": s.URL, "authorization_servers": []string{s.Issuer}}, s.Behaviour.Resource))
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	meta := map[string]any{
		"issuer": s.Issuer, "authorization_endpoint": s.Issuer + "/authorize?tenant=1",
		"token_endpoint":      s.Issuer + "/token",
		"revocation_endpoint": s.Issuer + "/revoke", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		"scopes_supported": []string{"offline_access"},
	}
	if s.Secret == "" {
		meta["registration_endpoint"] = s.Issuer + "/register"
	}
	writeJSON(w, http.StatusOK, with(meta, s.Metadata))
}

// with sets values; nil removes the entry.
func with(object, changes map[string]any) map[string]any {
	for name, value := range changes {
		if object[name] = value; value == nil {
			delete(object, name)
		}
	}
	return object
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	s.count("register")
	var asked map[string]any
	_ = json.NewDecoder(r.Body).Decode(&asked)
	id := "client-" + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[id] = fmt.Sprint(asked["redirect_uris"])
	asked["client_id"] = id
	writeJSON(w, http.StatusCreated, asked)
}

// authorize is the page, which agrees at once.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.count("authorize")
	query := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	redirects, known := s.clients[query.Get("client_id")]
	switch {
	case query.Get("tenant") != "1", query.Get("response_type") != "code", query.Get("code_challenge_method") != "S256",
		query.Get("state") == "":
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	case !known && query.Get("client_id") != "by-hand", known && redirects != "["+query.Get("redirect_uri")+"]":
		http.Error(w, "unknown client or redirect URI", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.codes[code] = query
	answer := url.Values{"code": {code}, "state": {query.Get("state")}}
	switch s.Iss {
	case "":
		answer.Set("iss", s.Issuer)
	case "none":
	default:
		answer.Set("iss", s.Iss)
	}
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastSeen = r.PostForm
	s.counts[r.PostForm.Get("grant_type")]++
	if s.Down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	f, fault := s.grant(r)
	if s.TokenError != "" {
		fault = s.TokenError
	}
	if fault != "" {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": fault, "error_description": "this is why"})
		return
	}
	life := s.ExpiresIn
	if life == 0 {
		life = 3600
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	answer := map[string]any{"access_token": access, "token_type": "bearer", "expires_in": life,
		"scope": strings.Join(f.scopes, " ")}
	s.access[access] = f
	if grant := r.PostForm.Get("grant_type"); !s.NoRefresh &&
		(grant == "authorization_code" || grant == "refresh_token") {
		answer["refresh_token"] = refresh
		s.refresh[refresh] = f
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) grant(r *http.Request) (f *family, fault string) {
	form := r.PostForm
	if form.Get("resource") != s.URL {
		return nil, "invalid_target"
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		asked, ok := s.codes[form.Get("code")]
		delete(s.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if !ok || asked.Get("client_id") != form.Get("client_id") ||
			asked.Get("redirect_uri") != form.Get("redirect_uri") ||
			asked.Get("resource") != form.Get("resource") ||
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			return nil, "invalid_grant"
		}
		return &family{client: form.Get("client_id"), scopes: strings.Fields(asked.Get("scope"))}, ""
	case "refresh_token":
		return s.renew(form)
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		if s.Assertion == "" || form.Get("assertion") != s.Assertion {
			return nil, "invalid_grant"
		}
		return &family{client: form.Get("client_id"), scopes: strings.Fields(form.Get("scope"))}, ""
	case "client_credentials":
		id, secret, _ := r.BasicAuth()
		if id != "machine" || secret != s.Secret || secret == "" {
			return nil, "invalid_client"
		}
		return &family{client: id, scopes: strings.Fields(form.Get("scope"))}, ""
	}
	return nil, "unsupported_grant_type"
}

// renew accepts a refresh token once. One that is used again may have been
// stolen, and ends the login (OAuth 2.1, section 4.3.1).
func (s *Server) renew(form url.Values) (*family, string) {
	token := form.Get("refresh_token")
	if f := s.spent[token]; f != nil {
		s.counts["reuse"]++
		f.dead = true
		return nil, "invalid_grant"
	}
	f := s.refresh[token]
	if f == nil || f.dead || f.client != form.Get("client_id") {
		return nil, "invalid_grant"
	}
	delete(s.refresh, token)
	s.spent[token] = f
	return f, ""
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["revoke"]++
	f := s.refresh[r.PostForm.Get("token")]
	if f == nil {
		f = s.access[r.PostForm.Get("token")]
	}
	if f != nil {
		f.dead = true
	}
}

// guarded requires a token, and for calls the scopes.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.counts["mcp"]++
		f := s.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		metadata := s.Issuer + "/.well-known/oauth-protected-resource/mcp"
		if s.Challenge != "" {
			metadata = s.Challenge
		}
		needed, stubborn := s.Scopes, s.Stubborn
		if r.Header.Get("Mcp-Method") == "tools/call" {
			needed = slices.Concat(needed, s.ToolScopes)
		}
		s.mu.Unlock()
		challenge := fmt.Sprintf("Bearer resource_metadata=%q", metadata)
		if len(needed) > 0 {
			challenge += fmt.Sprintf(", scope=%q", strings.Join(needed, " "))
		}
		switch {
		case f == nil || f.dead:
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case stubborn,
			slices.ContainsFunc(needed, func(scope string) bool { return !slices.Contains(f.scopes, scope) }):
			w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
			http.Error(w, "not you", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// Visit opens a page as a browser does, and follows redirects.
func Visit(ctx context.Context, page string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the page answered %s", response.Status)
	}
	return nil
}
