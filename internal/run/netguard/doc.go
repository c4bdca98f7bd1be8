// Package netguard fetches from the web only: a [Client] reaches public addresses on web ports, unless its
// owner allows more.
//
// The dialer checks the very address that it is about to connect to. So neither a name that changes its address
// between two lookups nor a redirect leads to a refused place. Proxies of the environment are ignored, since a
// proxy would make the connections.
//
// Responses are bounded in size after decompression, in time, and in pauses. Every error is a *tool.Error.
package netguard
