// Package netguard fetches from the web, and from nothing else: a [Client]
// reaches public addresses on the ports of the web, unless its owner allows
// more.
//
// The address is checked when the connection is made, after the name has been
// looked up, by the function that the dialer calls with the very address it is
// about to connect to. So neither a name that changes its address between two
// lookups nor a redirect leads to a place that the guard would refuse. No
// proxy is taken from the environment, since a proxy would do the connecting.
//
// What a server sends is bounded in size after decompression, in time, and in
// silence. Every error is a *tool.Error.
package netguard
