// Package access checks access tokens of an authorization server, by MCP's authorization chapter:
// signed JWTs (RFC 9068) only for this resource (RFC 8707), and a document with the issuer (RFC
// 9728). What cannot be checked is refused.
package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/run/loopback"
)

// Options configure a Checker.
type Options struct {
	// Issuer is the authorization server's name in iss.
	Issuer string
	// Resource is the server's URL for clients, without a path below /mcp. Tokens are for it, or
	// for the URL of a path below it.
	Resource string
	// Audiences are further names of the resource in aud.
	Audiences []string
	// Scopes are required in every token.
	Scopes []string
	// Keys is the URL of the issuer's keys; if empty, it is in the issuer's metadata.
	Keys string
}

// Checker checks tokens.
type Checker struct {
	options  Options
	resource *url.URL
	keys     *keySet
}

var (
	// ErrToken is for a token that is not valid here.
	ErrToken = errors.New("the access token is not valid")
	// ErrScope is for a token that lacks a scope.
	ErrScope = errors.New("the access token lacks a scope")
	// ErrKeys is for a time when tokens cannot be checked.
	ErrKeys = errors.New("the access token cannot be checked now")
)

// algorithms are those whose key can be published.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512, jose.EdDSA}

const (
	maxToken = 16 << 10 // bytes
	// leeway is how much the clocks of issuer and server may differ.
	leeway   = 30 * time.Second
	leastRSA = 2048 // bits
)

// New returns a checker. It does not ask the issuer yet.
func New(o Options) (*Checker, error) {
	resource, err := secureURL(o.Resource)
	if err != nil {
		return nil, fmt.Errorf("resource: %w", err)
	}
	if resource.RawQuery != "" || strings.HasSuffix(resource.Path, "/") {
		return nil, fmt.Errorf("resource: %q has a query or ends in a slash; write it like https://example.com/mcp",
			o.Resource)
	}
	if _, err := secureURL(o.Issuer); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if o.Keys != "" {
		if _, err := secureURL(o.Keys); err != nil {
			return nil, fmt.Errorf("jwks: %w", err)
		}
	}
	for _, scope := range o.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return nil, fmt.Errorf("scopes: %q is not a valid scope: one word of plain characters without quotes", scope)
		}
	}
	if slices.Contains(o.Audiences, "") {
		return nil, errors.New("audiences: one of them is empty")
	}
	return &Checker{options: o, resource: resource, keys: newKeySet(o.Issuer, o.Keys)}, nil
}

// secureURL parses a URL of https, or of http on this machine.
func secureURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("%q is not a URL like https://example.com/path", text)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback.Is(u.Hostname())):
		return nil, fmt.Errorf("%q would go unencrypted; write it with https", text)
	}
	return u, nil
}

// at returns the resource's URL for a path below /mcp, or for /mcp itself.
func (c *Checker) at(path string) *url.URL {
	if path == "" {
		return c.resource
	}
	return c.resource.JoinPath(url.PathEscape(path))
}

// Metadata returns the document with the issuer for a path below /mcp, or for /mcp itself.
func (c *Checker) Metadata(path string) *oauthex.ProtectedResourceMetadata {
	return &oauthex.ProtectedResourceMetadata{Resource: c.at(path).String(),
		AuthorizationServers: []string{c.options.Issuer}, ScopesSupported: c.options.Scopes,
		BearerMethodsSupported: []string{"header"}}
}

// Challenge returns WWW-Authenticate for a refusal: where Metadata is, and what is wrong with a
// token.
func (c *Checker) Challenge(path string, err error) string {
	at := *c.at(path)
	rest := at.EscapedPath()
	at.Path, at.RawPath = "/", ""
	where := strings.TrimSuffix(at.String(), "/") + mcpserve.MetadataPath + rest
	text := fmt.Sprintf(`Bearer realm="toolhost", resource_metadata="%s"`, where)
	if len(c.options.Scopes) > 0 {
		text += fmt.Sprintf(`, scope="%s"`, strings.Join(c.options.Scopes, " "))
	}
	switch {
	case errors.Is(err, ErrScope):
		text += `, error="insufficient_scope"`
	case errors.Is(err, ErrToken):
		text += `, error="invalid_token"`
	}
	return text
}

// Claims are a token's claims about its sender.
type Claims map[string]any

// Has reports whether a claim is a text, a list with it, or, for scope, a list of words with it.
func (c Claims) Has(name, value string) bool {
	switch claim := c[name].(type) {
	case string:
		return claim == value || name == "scope" && slices.Contains(strings.Fields(claim), value)
	case []any:
		return slices.Contains(claim, any(value))
	}
	return false
}

// Check checks a token for a path below /mcp, or for /mcp itself. The error is ErrToken, ErrScope or ErrKeys.
func (c *Checker) Check(ctx context.Context, token, path string) (Claims, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrToken, maxToken)
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, fmt.Errorf("%w: it is not a JWT with a signature of %v", ErrToken, algorithms)
	}
	header := parsed.Headers[0]
	kind, _ := header.ExtraHeaders[jose.HeaderType].(string)
	if kind = strings.TrimPrefix(strings.ToLower(kind), "application/"); kind != "" && kind != "jwt" && kind != "at+jwt" {
		return nil, fmt.Errorf("%w: it is a %q, not an access token", ErrToken, kind)
	}
	keys, err := c.keys.find(ctx, header)
	if err != nil {
		return nil, err
	}
	var known jwt.Claims
	var all Claims
	err = errors.New("no key")
	for _, key := range keys {
		if err = parsed.Claims(key.Key, &known, &all); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: its signature does not fit", ErrToken)
	}
	audiences := append(jwt.Audience{c.resource.String(), c.at(path).String()}, c.options.Audiences...)
	err = known.ValidateWithLeeway(jwt.Expected{Issuer: c.options.Issuer, AnyAudience: audiences, Time: time.Now()},
		leeway)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	case known.Expiry == nil:
		return nil, fmt.Errorf("%w: it does not say when it expires", ErrToken)
	case all["cnf"] != nil:
		return nil, fmt.Errorf("%w: it is bound to a key, which is not checked here", ErrToken)
	}
	for _, scope := range c.options.Scopes {
		if !all.Has("scope", scope) && !all.Has("scp", scope) {
			return nil, fmt.Errorf("%w: %s", ErrScope, scope)
		}
	}
	return all, nil
}

// fits reports whether a key may have made a signature.
func fits(key *jose.JSONWebKey, header jose.Header) bool {
	if key.KeyID != header.KeyID && header.KeyID != "" || key.Use != "" && key.Use != "sig" ||
		key.Algorithm != "" && key.Algorithm != header.Algorithm || !key.Valid() || !key.IsPublic() {
		return false
	}
	family := header.Algorithm[:2]
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return (family == "RS" || family == "PS") && k.N.BitLen() >= leastRSA
	case *ecdsa.PublicKey:
		sizes := map[string]int{"ES256": 256, "ES384": 384, "ES512": 521}
		return sizes[header.Algorithm] == k.Curve.Params().BitSize
	case ed25519.PublicKey:
		return family == "Ed"
	}
	return false
}
