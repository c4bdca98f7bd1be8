package oauth

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolhost/toolhost/host/tool"
)

// identify determines the client, in the protocol's order: a manual registration, a metadata document, or a
// dynamic registration for this login.
func (s *Server) identify(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string) (client, error) {
	if s.config.ClientID != "" {
		return s.byHand(meta.Issuer, meta.TokenEndpointAuthMethodsSupported)
	}
	if s.config.ClientMetadataURL != "" && meta.ClientIDMetadataDocumentSupported {
		return client{id: s.config.ClientMetadataURL, auth: authNone}, nil
	}
	if meta.RegistrationEndpoint == "" {
		return client{}, s.errorf(tool.Unsupported, "lets no client register itself").
			Suggest("Register toolhost with %s by hand, with the redirect URI http://127.0.0.1:PORT/callback, and "+
				"write the client_id and redirect_port into an oauth block.", meta.Issuer)
	}
	return s.register(ctx, meta, redirect)
}

func (s *Server) byHand(issuer string, methods []string) (c client, err error) {
	c = client{id: s.config.ClientID, issuer: issuer}
	if s.config.PrivateKeyFile != "" {
		text, err := readSecret("private_key_file", s.config.PrivateKeyFile, true)
		if err != nil {
			return c, err
		}
		if c.key, err = parseKey(text); err != nil {
			return c, tool.Errorf(tool.Unavailable, "private_key_file %s has no key that can be used: %w",
				s.config.PrivateKeyFile, err).
				Suggest("Make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 > FILE")
		}
		c.auth = authJWT
		return c, nil
	}
	if c.secret, err = s.config.secret(); err != nil {
		return c, err
	}
	s.sensitive(c.secret)
	c.auth = authMethod(c.secret, methods)
	return c, nil
}

// register registers a client (RFC 7591).
func (s *Server) register(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string) (client, error) {
	auth := authNone // a program on a user's machine cannot keep a secret
	if methods := meta.TokenEndpointAuthMethodsSupported; len(methods) > 0 && !slices.Contains(methods, authNone) {
		auth = authMethod("some", methods)
	}
	answer, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "toolhost", ApplicationType: "native", RedirectURIs: []string{redirect},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: auth,
	}, s.web.client)
	if err != nil {
		return client{}, s.errorf(tool.Unavailable, "has an authorization server, %s, that registers no client: %s",
			meta.Issuer, clip(err.Error())).
			Suggest("Register toolhost there by hand, and write the client_id into an oauth block.")
	}
	c := client{id: answer.ClientID, secret: answer.ClientSecret, auth: answer.TokenEndpointAuthMethod,
		registered: true}
	s.sensitive(c.secret)
	if c.auth == "" || c.secret == "" {
		c.auth = authMethod(c.secret, meta.TokenEndpointAuthMethodsSupported)
	}
	return c, nil
}
