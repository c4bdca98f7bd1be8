package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolhost/toolhost/host/tool"
)

// challenge is the content of a refusal (RFC 6750, section 3; RFC 9728, section 5).
type challenge struct {
	code     string // "insufficient_scope", "invalid_token"
	scopes   []string
	metadata string // URL of the protected resource metadata
}

// challengeOf parses a refusal, ignoring what it cannot read.
func challengeOf(header http.Header) (c challenge) {
	all, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, each := range all {
		if each.Scheme == "bearer" {
			return challenge{each.Params["error"], strings.Fields(each.Params["scope"]),
				each.Params["resource_metadata"]}
		}
	}
	return c
}

// authServer is the MCP server's authorization server.
type authServer struct {
	resource string // audience of the tokens
	scopes   []string
	meta     *oauthex.AuthServerMeta
}

func (s *Server) discover(ctx context.Context, c challenge) (*authServer, error) {
	if s.url.Scheme != "https" && !s.web.loopback {
		return nil, s.errorf(tool.Blocked, "wants a token, which would travel unencrypted to %s", s.url.Host).
			Suggest("Write the url of its mcp block with https.")
	}
	resource, err := s.resource(ctx, c.metadata)
	if err != nil {
		return nil, err
	}
	p := &authServer{resource: s.options.URL}
	issuer := s.url.Scheme + "://" + s.url.Host // revision 2025-03-26: the server itself
	if resource != nil {
		p.resource, p.scopes = resource.Resource, resource.ScopesSupported
		if issuer, err = s.issuer(resource.AuthorizationServers); err != nil {
			return nil, err
		}
	}
	if resource == nil && s.config.Issuer != "" {
		issuer = s.config.Issuer
	}
	p.meta, err = auth.GetAuthServerMetadata(ctx, issuer, s.web.client)
	switch {
	case err != nil:
		return nil,
			s.errorf(tool.Unavailable, "has the authorization server %s, which cannot be used: %w", issuer, err).
				Suggest("The operator of the server has to fix this, unless the network is at fault.")
	case p.meta == nil && resource == nil:
		return nil, s.errorf(tool.Unsupported, "does not say how to log in to it").
			Suggest("If it takes a fixed token, put that into headers in its mcp block: headers = { Authorization " +
				"= \"Bearer ${env(\"TOKEN\")}\" }.")
	case p.meta == nil:
		return nil,
			s.errorf(tool.Unavailable, "has the authorization server %s, which does not say how to use it", issuer).
				Suggest("The operator of the server has to fix this.")
	}
	return p, s.checkEndpoints(p.meta)
}

// checkEndpoints refuses endpoints that neither our requests nor the user's browser may be led to.
func (s *Server) checkEndpoints(meta *oauthex.AuthServerMeta) error {
	type endpoint struct {
		name, url string
		optional  bool
	}
	endpoints := []endpoint{{"token", meta.TokenEndpoint, false}, {"registration", meta.RegistrationEndpoint, true},
		{"revocation", meta.RevocationEndpoint, true}}
	if s.config.attended() {
		endpoints = append(endpoints, endpoint{"authorization", meta.AuthorizationEndpoint, false})
	}
	for _, e := range endpoints {
		if e.optional && e.url == "" {
			continue
		}
		if err := s.web.checkText(e.url); err != nil {
			return s.errorf(tool.Blocked, "has a bad %s endpoint: %w", e.name, err).Suggest("%s",
				tool.AsError(err).Suggestion)
		}
	}
	return nil
}

func (s *Server) issuer(named []string) (string, error) {
	if len(named) == 0 {
		return "", s.errorf(tool.Unsupported,
			"names no authorization server").Suggest("The operator of the server has to fix this.")
	}
	if s.config.Issuer == "" {
		return named[0], nil
	}
	for _, issuer := range named {
		if strings.TrimSuffix(issuer, "/") == strings.TrimSuffix(s.config.Issuer, "/") {
			return issuer, nil
		}
	}
	return "", s.errorf(tool.Blocked, "names the authorization server %s, and not %s", strings.Join(named, ", "),
		s.config.Issuer).
		Suggest("If it has moved, register a client there and change issuer in its oauth block.")
}

// resource reads the server's protected resource metadata, nil if it has none: from the URL in the refusal, and
// those that RFC 9728 derives.
func (s *Server) resource(ctx context.Context, named string) (*oauthex.ProtectedResourceMetadata, error) {
	root := s.url.Scheme + "://" + s.url.Host + "/.well-known/oauth-protected-resource"
	places := []string{named}
	if path := strings.Trim(s.url.EscapedPath(), "/"); path != "" {
		places = append(places, root+"/"+path)
	}
	var failed error
	for _, at := range append(places, root) {
		if at == "" {
			continue
		}
		found := new(oauthex.ProtectedResourceMetadata)
		ok, err := s.web.getJSON(ctx, at, found)
		if blocked, ok := errors.AsType[*tool.Error](err); ok {
			return nil, s.errorf(tool.Blocked, "publishes its metadata where it cannot be read: %w",
				blocked).Suggest("%s", blocked.Suggestion)
		}
		if err != nil {
			failed = s.errorf(tool.Unavailable, "publishes metadata that cannot be read: %w",
				err).Suggest("Try again later.")
			continue
		}
		if ok {
			return found, s.checkResource(found)
		}
	}
	return nil, failed
}

// checkResource refuses metadata of another resource, whose token would be sent to this one. It matches if its URL
// is the server's or a parent directory's.
func (s *Server) checkResource(found *oauthex.ProtectedResourceMetadata) error {
	u, err := url.Parse(found.Resource)
	if err == nil && origin(u) == origin(s.url) && u.Fragment == "" &&
		(u.RawQuery == "" || u.RawQuery == s.url.RawQuery) &&
		strings.HasPrefix(s.url.EscapedPath()+"/", strings.TrimSuffix(u.EscapedPath(), "/")+"/") {
		return nil
	}
	return s.errorf(tool.Blocked, "publishes the metadata of another resource, %q", found.Resource).
		Suggest("The operator of the server has to fix this, or the url of the mcp block is not the one that it goes by.")
}

// wanted returns the scopes to request: the operator's, else the refusal's, else all of the server's; plus more.
func (s *Server) wanted(p *authServer, c challenge, more []string) []string {
	scopes := slices.Clone(s.config.Scopes)
	if len(scopes) == 0 {
		scopes = slices.Clone(c.scopes)
	}
	if len(scopes) == 0 {
		scopes = slices.Clone(p.scopes)
	}
	if s.config.attended() && slices.Contains(p.meta.ScopesSupported, "offline_access") {
		more = append(slices.Clone(more), "offline_access") // for a refresh token
	}
	return union(scopes, more)
}

func union(scopes, more []string) []string {
	for _, scope := range more {
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}
