package mcpclient

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
)

// authorized sets up the server's authorization if it has a URL and no header for it.
func (s *server) authorized() (err error) {
	if s.spec.URL == "" {
		return nil
	}
	for name := range s.spec.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil
		}
	}
	options := s.client.options
	s.oauth, err = oauth.New(oauth.Options{
		Name: s.spec.Name, URL: s.spec.URL, Config: s.spec.OAuth, Headers: s.spec.Headers,
		Store: options.Logins, Visit: options.Visit, Sensitive: s.client.addSecrets, Logger: s.client.logger,
	})
	return err
}

// logins returns a server's authorization. The error is a *tool.Error: not_found, or unsupported for a
// server without logins.
func (c *Client) logins(name string) (*oauth.Server, error) {
	s, err := c.find(name)
	if err != nil {
		return nil, err
	}
	if s.oauth == nil && s.spec.URL == "" {
		return nil, tool.Errorf(tool.Unsupported, "the MCP server %s is a program: there is no login to it", name).
			Suggest("Give it what it needs in env of its mcp block.")
	}
	if s.oauth == nil {
		return nil, tool.Errorf(tool.Unsupported,
			"the MCP server %s gets its Authorization from the headers of its mcp block", name).
			Suggest("Take Authorization out of headers to log in instead.")
	}
	return s.oauth, nil
}

// Login logs in to a server with the user, again if necessary, with scopes besides those that it names. Errors
// are *tool.Errors.
func (c *Client) Login(ctx context.Context, name string, scopes []string, visit oauth.Visit) error {
	server, err := c.logins(name)
	if err != nil {
		return err
	}
	return server.Login(ctx, scopes, visit)
}

// Logout ends the login to a server; see oauth.Server.Logout.
func (c *Client) Logout(ctx context.Context, name string) (was bool, err error) {
	server, err := c.logins(name)
	if err != nil {
		return false, err
	}
	return server.Logout(ctx)
}

// LoginState returns the state of the login to a server, without asking it.
func (c *Client) LoginState(name string) (oauth.State, error) {
	server, err := c.logins(name)
	if err != nil {
		return oauth.State{}, err
	}
	return server.State()
}

// Check connects to a server, unless connected. The error is a *tool.Error that explains the failure.
func (c *Client) Check(ctx context.Context, name string) error {
	_, err := c.connected(ctx, name)
	return err
}
