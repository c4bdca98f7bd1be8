// Package oauth gets, keeps and renews the access tokens that MCP servers over
// HTTP ask for, as the authorization chapter of the protocol says: OAuth 2.1
// with PKCE, found by protected resource metadata (RFC 9728) and authorization
// server metadata (RFC 8414), bound to the server by resource indicators (RFC
// 8707), with the issuer checked in the answer (RFC 9207).
//
// A [Server] authorizes the requests to one MCP server. What a person has
// agreed to is a login, which a [Store] keeps for the user. Nothing here opens
// a browser: anyone who wants a login gives a [Visit], and without one a request
// that needs a login fails with an error that says so.
//
// Every URL that a server names is as suspect as the server: see [Server].
package oauth
