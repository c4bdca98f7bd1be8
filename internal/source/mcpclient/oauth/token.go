package oauth

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Authentication methods of a client (RFC 7591, section 2).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// client is toolhost's identity at an authorization server.
type client struct {
	id, secret, auth string
	key              crypto.Signer // for authJWT
	issuer           string        // its authorization server
	registered       bool          // dynamically: the secret is stored nowhere else
}

// authMethod chooses how a client with a secret authenticates; by default in the header (RFC 8414, section 2).
func authMethod(secret string, supported []string) string {
	switch {
	case secret == "":
		return authNone
	case len(supported) > 0 && !slices.Contains(supported, authBasic) && slices.Contains(supported, authPost):
		return authPost
	}
	return authBasic
}

// granted is a token endpoint's answer (RFC 6749, section 5).
type granted struct {
	AccessToken      string      `json:"access_token"`
	TokenType        string      `json:"token_type"`
	ExpiresIn        json.Number `json:"expires_in"`
	RefreshToken     string      `json:"refresh_token"`
	Scope            *string     `json:"scope"`
	ErrorCode        string      `json:"error"`
	ErrorDescription string      `json:"error_description"`
}

// refusal is an error response of an authorization server, with its texts.
type refusal struct{ code, description string }

// Error implements error.
func (r *refusal) Error() string {
	if r.description == "" {
		return clip(r.code)
	}
	return clip(r.code) + ": " + clip(r.description)
}

// final reports whether the refusal invalidates a refresh token.
func (r *refusal) final() bool {
	return slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope",
		"invalid_target"}, r.code)
}

// clip shortens a foreign text for an error.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

func (s *Server) ask(ctx context.Context, endpoint string, c client, form url.Values) (*granted, error) {
	response, err := s.post(ctx, endpoint, c, form)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer := new(granted)
	err = json.NewDecoder(response.Body).Decode(answer)
	switch {
	case answer.ErrorCode != "":
		return nil, &refusal{answer.ErrorCode, answer.ErrorDescription}
	case response.StatusCode/100 != 2:
		return nil, errors.New("it answered " + response.Status)
	case err != nil:
		return nil, errors.New("it answered no JSON")
	case answer.AccessToken == "":
		return nil, errors.New("it gave no token")
	case answer.TokenType != "" && !strings.EqualFold(answer.TokenType, "bearer"):
		return nil, fmt.Errorf("it gave a token of type %q, and only bearer tokens can be used", clip(answer.TokenType))
	case strings.ContainsFunc(answer.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("it gave a token that cannot be sent")
	}
	return answer, nil
}

func (s *Server) post(ctx context.Context, endpoint string, c client, form url.Values) (*http.Response, error) {
	if c.auth != authBasic {
		form.Set("client_id", c.id)
	}
	switch c.auth {
	case authPost:
		form.Set("client_secret", c.secret)
	case authJWT:
		signed, err := assertion(c.id, c.issuer, c.key)
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", signed)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	if c.auth == authBasic {
		request.SetBasicAuth(url.QueryEscape(c.id), url.QueryEscape(c.secret))
	}
	return s.web.client.Do(request)
}

// applyToken stores an answer in a login. What the answer omits stays.
func (l *Login) applyToken(g *granted, asked []string) {
	l.AccessToken, l.Expires = g.AccessToken, time.Time{}
	if seconds, err := strconv.ParseFloat(g.ExpiresIn.String(), 64); err == nil && seconds > 0 && seconds < 1e10 {
		l.Expires = time.Now().Add(time.Duration(seconds) * time.Second).UTC().Round(time.Second)
	}
	if g.RefreshToken != "" {
		l.RefreshToken = g.RefreshToken
	}
	switch {
	case g.Scope != nil:
		l.Scopes = strings.Fields(*g.Scope)
	case asked != nil:
		l.Scopes = asked
	}
}

func (s *Server) client(l *Login) (client, error) {
	if s.config.ClientID == l.ClientID {
		return s.byHand(l.Issuer, []string{l.ClientAuth})
	}
	return client{id: l.ClientID, secret: l.ClientSecret, auth: l.ClientAuth}, nil
}

// renew replaces the access token used, expired or refused; nil if that needs the user, or the client's
// secret. Only one process renews; the others find the result.
func (s *Server) renew(ctx context.Context, used string) (*Login, error) {
	release, err := s.store.hold(ctx, s.options.URL, &s.config)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := s.load()
	switch {
	case err != nil || l == nil:
		return nil, err
	case l.AccessToken != used && l.fresh():
		return l, nil
	case l.RefreshToken == "":
		return nil, nil
	}
	c, err := s.client(l)
	if err != nil {
		return nil, err
	}
	answer, err := s.ask(ctx, l.TokenEndpoint, c, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {l.RefreshToken}, "resource": {l.Resource},
	})
	if refused, ok := errors.AsType[*refusal](err); ok && refused.final() {
		s.logger.Info("the login to an MCP server was not renewed", "server", s.options.Name, "error", refused)
		l.RefreshToken, l.Expires = "", time.Now().UTC() // of no more use
		return nil, s.store.save(l, &s.config)
	}
	if err != nil {
		return nil, s.errorf(tool.Unavailable, "cannot be used: the login cannot be renewed at %s: %w", l.Issuer, err).
			Suggest("Call again later. toolhost mcp login %s makes a new login.", s.options.Name)
	}
	l.applyToken(answer, nil)
	s.sensitive(l.secrets()...)
	return l, s.store.save(l, &s.config)
}
