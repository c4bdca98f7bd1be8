package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/host/tool"
)

// maxVisits bounds the consecutive visits to a login page, for a server that refuses every token. visitRest
// without a visit resets the count.
const (
	maxVisits = 3
	visitRest = time.Minute
)

// more handles the refusal of an authenticated request.
func (s *Server) more(ctx context.Context, c challenge, l *Login, response *http.Response) error {
	if c.code != "insufficient_scope" {
		return s.errorf(tool.PermissionDenied, "refuses the request: %s", response.Status).
			Suggest("The user who is logged in there may not do this.")
	}
	var has []string
	if l != nil {
		has = l.Scopes
	}
	if len(lacking(c.scopes, has)) == 0 {
		return s.errorf(tool.PermissionDenied, "refuses the request because of scopes that the login has already (%s)",
			strings.Join(c.scopes, " ")).
			Suggest("The user who is logged in there may not do this.").With("scopes", c.scopes)
	}
	return s.obtain(ctx, c, has, l)
}

func lacking(scopes, has []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(scope string) bool { return slices.Contains(has, scope) })
}

// obtain gets a token: with the client's own secret, or from the user if possible.
func (s *Server) obtain(ctx context.Context, c challenge, scopes []string, l *Login) error {
	if !s.config.attended() {
		return s.credentials(ctx, c, scopes)
	}
	if time.Since(s.visited) > visitRest {
		s.visits, s.failed = 0, nil
	}
	if s.failed != nil {
		return s.failed
	}
	if s.options.Visit == nil || s.visits >= maxVisits {
		return s.required(c, l)
	}
	s.visits++
	s.failed = s.visit(ctx, c, scopes, s.options.Visit)
	s.visited = time.Now()
	return s.failed
}

// required returns the error that the user must log in, and how. Its detail "login" is for programs.
func (s *Server) required(c challenge, l *Login) error {
	command := "toolhost mcp login " + s.options.Name
	const next = "Run %s in a terminal, then call again."
	switch {
	case c.code == "insufficient_scope" && l != nil:
		scopes := lacking(c.scopes, l.Scopes)
		for _, scope := range scopes {
			command += " --scope " + quoted(scope)
		}
		return s.errorf(tool.PermissionDenied, "wants a login that also has the scopes %s", strings.Join(scopes, " ")).
			Suggest(next, command).With("login", command).With("scopes", scopes)
	case l != nil:
		return s.errorf(tool.PermissionDenied, "wants a new login: the one of %s is over", l.At.Format(time.DateOnly)).
			Suggest(next, command).With("login", command)
	}
	return s.errorf(tool.PermissionDenied, "wants a login").Suggest(next, command).With("login", command)
}

// quoted makes a scope one shell word. A scope has no blanks and quotes (RFC 6749, section 3.3), unless the
// server is malicious.
func quoted(scope string) string {
	if strings.Trim(scope, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@+,=") == "" {
		return scope
	}
	return "'" + strings.ReplaceAll(clip(scope), "'", `'\''`) + "'"
}

// Login logs in with the user, again if necessary. Scopes are requested besides those of the server and of the
// present login.
func (s *Server) Login(ctx context.Context, scopes []string, visit Visit) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	if l, err := s.load(); len(scopes) > 0 && err == nil && l != nil {
		scopes = union(slices.Clone(scopes), l.Scopes)
	}
	c, err := s.knock(ctx)
	if err != nil {
		return err
	}
	if !s.config.attended() {
		return s.credentials(ctx, c, scopes)
	}
	return s.visit(ctx, c, scopes, visit)
}

// knock sends the MCP server a request without a token, for its refusal.
func (s *Server) knock(ctx context.Context) (challenge, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.options.URL, nil)
	if err != nil {
		return challenge{}, err
	}
	for name, value := range s.options.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := s.web.plain().Do(request)
	if err != nil {
		return challenge{},
			s.errorf(tool.Unavailable, "cannot be reached: %w", err).Suggest("Check the url in its mcp block.")
	}
	_ = response.Body.Close()
	return challengeOf(response.Header), nil
}

// visit gets the user's consent (RFC 6749, section 4.1, with PKCE, RFC 7636).
func (s *Server) visit(ctx context.Context, c challenge, more []string, visit Visit) error {
	p, err := s.discover(ctx, c)
	if err != nil {
		return err
	}
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	r, err := listen(s.config.RedirectPort, state)
	if err != nil {
		return err
	}
	defer r.close()
	asked := s.wanted(p, c, more)
	who, err := s.identify(ctx, p.meta, r.uri())
	if err != nil {
		return err
	}
	query := url.Values{
		"response_type": {"code"}, "client_id": {who.id}, "redirect_uri": {r.uri()}, "state": {state},
		"resource":       {p.resource},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}
	if len(asked) > 0 {
		query.Set("scope", strings.Join(asked, " "))
	}
	came, err := s.send(ctx, p, query, r, visit)
	if err != nil {
		return err
	}
	return s.obtainLogin(ctx, p, who, asked, url.Values{
		"grant_type": {"authorization_code"}, "code": {came.code}, "redirect_uri": {r.uri()},
		"code_verifier": {verifier}, "resource": {p.resource},
	})
}

// send sends the user to the page and waits for the answer, which must come from the same authorization server (RFC
// 9207, section 2.4).
func (s *Server) send(ctx context.Context, p *authServer, query url.Values, r *receiver, visit Visit) (answer, error) {
	at, err := url.Parse(p.meta.AuthorizationEndpoint)
	if err != nil {
		return answer{}, err
	}
	own := at.Query()
	for name, values := range query {
		own[name] = values
	}
	at.RawQuery, at.Fragment = own.Encode(), ""
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := visit(ctx, Page{Server: s.options.Name, Host: at.Host, URL: at.String(), Answer: r.paste}); err != nil {
		return answer{}, err
	}
	came, err := r.wait(ctx)
	again := "Run toolhost mcp login " + s.options.Name + " again."
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return came, s.errorf(tool.Timeout, "got no answer to the login in time").Suggest("%s", again)
	case errors.Is(err, context.Canceled):
		return came, err
	case err != nil:
		return came, s.errorf(tool.PermissionDenied, "was not logged in to: %w", err).Suggest("%s", again)
	case came.iss == "" && p.meta.AuthorizationResponseIssParameterSupported:
		return came, s.errorf(tool.Blocked, "was not logged in to: the answer does not say that it is from %s",
			p.meta.Issuer).Suggest("%s", again)
	case came.iss != "" && came.iss != p.meta.Issuer:
		return came, s.errorf(tool.Blocked, "was not logged in to: the answer is from %q and not from %s",
			clip(came.iss), p.meta.Issuer).
			Suggest("This may be an attempt to steal the login. %s", again)
	}
	return came, nil
}

// credentials gets a token without the user: for the client itself (RFC 6749, section 4.4), or by assertion (RFC
// 7523, section 2.1).
func (s *Server) credentials(ctx context.Context, c challenge, more []string) error {
	p, err := s.discover(ctx, c)
	if err != nil {
		return err
	}
	who, err := s.identify(ctx, p.meta, "")
	if err != nil {
		return err
	}
	asked := s.wanted(p, c, more)
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {p.resource}}
	if s.config.Grant == JWTBearer {
		written, err := readSecret("assertion_file", s.config.AssertionFile, false)
		if err != nil {
			return err
		}
		s.sensitive(written)
		form.Set("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
		form.Set("assertion", written)
	}
	if len(asked) > 0 {
		form.Set("scope", strings.Join(asked, " "))
	}
	return s.obtainLogin(ctx, p, who, asked, form)
}

// obtainLogin requests a token and stores it.
func (s *Server) obtainLogin(ctx context.Context, p *authServer, who client, asked []string, form url.Values) error {
	g, err := s.ask(ctx, p.meta.TokenEndpoint, who, form)
	if err != nil {
		return s.errorf(tool.PermissionDenied, "was not logged in to: %s gave no usable token: %w", p.meta.Issuer, err).
			Suggest("Check the oauth block, or log in again: toolhost mcp login %s.", s.options.Name)
	}
	l := &Login{
		Server: s.options.URL, Resource: p.resource, Issuer: p.meta.Issuer, TokenEndpoint: p.meta.TokenEndpoint,
		RevocationEndpoint: p.meta.RevocationEndpoint, ClientID: who.id, ClientAuth: who.auth,
		At: time.Now().UTC().Round(time.Second),
	}
	if who.registered {
		l.ClientSecret = who.secret
	}
	if asked == nil {
		asked = []string{}
	}
	l.applyToken(g, asked)
	s.sensitive(l.secrets()...)
	release, err := s.store.hold(ctx, s.options.URL, &s.config)
	if err != nil {
		return err
	}
	defer release()
	s.logger.Info("logged in to an MCP server", "server", s.options.Name, "issuer", l.Issuer, "expires", l.Expires)
	return s.store.save(l, &s.config)
}

// Logout removes the login, and revokes it at the authorization server if possible (RFC 7009). was is false if
// there was none. The login is removed here even if the revocation fails with an error.
func (s *Server) Logout(ctx context.Context) (was bool, err error) {
	release, err := s.store.hold(ctx, s.options.URL, &s.config)
	if err != nil {
		return false, err
	}
	defer release()
	l, damaged := s.load()
	if l == nil && damaged == nil {
		return false, nil
	}
	if err := s.store.remove(s.options.URL, &s.config); err != nil || l == nil || l.RevocationEndpoint == "" {
		return true, err
	}
	c, err := s.client(l)
	if err != nil {
		return true, err
	}
	kind, token := "access_token", l.AccessToken
	if l.RefreshToken != "" {
		kind, token = "refresh_token", l.RefreshToken
	}
	response, err := s.post(ctx, l.RevocationEndpoint, c, url.Values{"token": {token}, "token_type_hint": {kind}})
	if err == nil {
		_ = response.Body.Close()
		if response.StatusCode/100 != 2 {
			err = errors.New(response.Status)
		}
	}
	if err != nil {
		return true,
			s.errorf(tool.Unavailable, "is logged out of here, but %s did not end the login: %w", l.Issuer, err).
				Suggest("End it in your account there.")
	}
	return true, nil
}
