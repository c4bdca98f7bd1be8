// Package oauth gets, stores and renews access tokens for MCP servers over HTTP, following the protocol's
// authorization chapter: OAuth 2.1 with PKCE, protected resource metadata (RFC 9728), authorization server metadata
// (RFC 8414), resource indicators (RFC 8707), and a check of the issuer (RFC 9207).
//
// A [Server] authorizes the requests to one MCP server. The user's consent is a login, kept in a [Store]. Callers
// pass a [Visit] to open a browser; without one a request that needs a login fails with an error that says so.
//
// URLs named by a server are as untrusted as the server: see [Server].
package oauth
