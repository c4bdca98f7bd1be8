package oauth

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Options configures a Server.
type Options struct {
	// Name is the MCP server's name, for errors; URL its endpoint.
	Name, URL string
	Config    Config
	// Headers go with requests to URL, besides the token.
	Headers map[string]string
	// Store stores the login. Nil keeps it in memory.
	Store *Store
	// Visit shows the user the login page. If nil, a request that needs it fails.
	Visit Visit
	// Sensitive, unless nil, is called with values to redact.
	Sensitive func(values []string)
	// Logger receives the events of logins. Nil discards.
	Logger *slog.Logger
}

// Server authorizes the requests to one MCP server. It is an OAuthHandler of the SDK, and safe for concurrent use.
//
// Documents and endpoints of a login must be https URLs with public addresses, except for the MCP server's host,
// Config.Private, and this machine if the MCP server is on it. The token is sent only to Options.URL, by TLS
// unless the server is on this machine.
type Server struct {
	options Options
	config  Config
	url     *url.URL
	store   *Store
	logger  *slog.Logger
	web     *web

	turn    chan struct{} // held by the one current Authorize; guards the next three
	visits  int           // in a row
	visited time.Time     // the last time
	failed  error         // why the last visit failed

	mu    sync.Mutex
	known map[string]bool // secrets passed to Sensitive
}

var _ auth.OAuthHandler = (*Server)(nil)

// New returns a Server without connecting. The error is invalid_argument for an invalid URL.
func New(options Options) (*Server, error) {
	s := &Server{options: options, config: options.Config, store: options.Store, logger: options.Logger}
	var err error
	if s.url, err = url.Parse(options.URL); err != nil || s.url.Host == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "the MCP server %s has no usable URL",
			options.Name).Suggest("Write https://HOST/PATH.")
	}
	if s.web, err = newWeb(s.url, s.config.Private); err != nil {
		return nil, err
	}
	if s.store == nil {
		s.store = InMemory()
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	s.turn, s.known = make(chan struct{}, 1), make(map[string]bool)
	return s, nil
}

// errorf returns an error that begins with the server.
func (s *Server) errorf(code tool.Code, format string, args ...any) *tool.Error {
	return tool.Errorf(code, "the MCP server %s "+format, append([]any{s.options.Name}, args...)...).With("server",
		s.options.Name)
}

func (s *Server) sensitive(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []string
	for _, value := range values {
		if value != "" && !s.known[value] {
			s.known[value] = true
			fresh = append(fresh, value)
		}
	}
	if len(fresh) > 0 && s.options.Sensitive != nil {
		s.options.Sensitive(fresh)
	}
}

// Hide redacts known tokens and secrets from a server's text, without changing data.
func (s *Server) Hide(data []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	secrets := slices.DeleteFunc(slices.Collect(maps.Keys(s.known)), func(v string) bool { return len(v) < shortest })
	return []byte(redact.New(secrets).String(string(data)))
}

// shortest is the least length of a redacted value: shorter ones are no secrets, and occur by chance.
const shortest = 8

func (s *Server) load() (*Login, error) {
	l, err := s.store.load(s.options.URL, &s.config)
	if l != nil {
		s.sensitive(l.secrets()...)
	}
	return l, err
}

// TokenSource implements auth.OAuthHandler.
func (s *Server) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return source{s, ctx}, nil
}

// source provides the token for the next request.
type source struct {
	server *Server
	ctx    context.Context
}

// Token implements oauth2.TokenSource. It returns nil without a login: the server has to ask for one. An
// expired login is an error, since a server that accepts anonymous requests would answer as if to another user.
func (t source) Token() (*oauth2.Token, error) {
	s := t.server
	l, err := s.load()
	if err == nil && l != nil && !l.fresh() {
		ctx, cancel := context.WithTimeout(t.ctx, requestTime)
		defer cancel()
		l, err = s.revive(ctx, l)
	}
	if err != nil || l == nil {
		return nil, err
	}
	return &oauth2.Token{AccessToken: l.AccessToken, Expiry: l.Expires}, nil
}

// revive renews an expired login without the user. It returns nil if the user can be asked later.
func (s *Server) revive(ctx context.Context, old *Login) (*Login, error) {
	l, err := s.renew(ctx, old.AccessToken)
	if err != nil || l != nil || s.options.Visit != nil {
		return l, err
	}
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.release()
	if l, err = s.load(); err != nil || l != nil && l.fresh() {
		return l, err
	}
	if err := s.obtain(ctx, challenge{}, old.Scopes, old); err != nil {
		return nil, err
	}
	return s.load()
}

func (s *Server) acquire(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) release() { <-s.turn }

// State is the state of a login.
type State struct {
	// LoggedIn is set while requests can be authorized.
	LoggedIn bool `json:"logged_in"`
	// Expires is when the access token ends, if known. Renews is set if it is then renewed automatically.
	Expires time.Time `json:"expires,omitzero"`
	Renews  bool      `json:"renews"`
	Issuer  string    `json:"issuer,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// State returns the login's state, from the store alone.
func (s *Server) State() (State, error) {
	l, err := s.load()
	if err != nil || l == nil {
		return State{}, err
	}
	return State{
		LoggedIn: l.fresh() || l.RefreshToken != "", Expires: l.Expires,
		Renews: l.RefreshToken != "" || !s.config.attended(),
		Issuer: l.Issuer, Scopes: l.Scopes, At: l.At,
	}, nil
}

// Authorize implements auth.OAuthHandler: it is called when the server refuses a request, and returns nil to
// retry.
func (s *Server) Authorize(ctx context.Context, request *http.Request, response *http.Response) error {
	_ = response.Body.Close()
	c := challengeOf(response.Header)
	used := bearer(request.Header)
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	l, err := s.load()
	if err != nil {
		return err
	}
	if l != nil && l.fresh() && l.AccessToken != used {
		return nil // renewed meanwhile
	}
	if response.StatusCode == http.StatusForbidden {
		return s.more(ctx, c, l, response)
	}
	if l != nil && l.RefreshToken != "" {
		if l, err := s.renew(ctx, used); err != nil || l != nil {
			return err
		}
	}
	return s.obtain(ctx, c, nil, l)
}

func bearer(header http.Header) string {
	const scheme = "Bearer "
	if value := header.Get("Authorization"); len(value) > len(scheme) && value[:len(scheme)] == scheme {
		return value[len(scheme):]
	}
	return ""
}
