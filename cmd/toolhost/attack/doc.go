// Package attack is the catalogue of attacks on toolhost: each case drives the
// built program over the command line or MCP, and after each the same checks
// are made. Nothing outside the workspace has changed, no planted secret shows
// anywhere, the host still answers, no process is left, no temporary file,
// socket or mount is left, there was one well-formed result with a stable code,
// the files concerned are whole, and a server that must not be reached was not.
//
// Controls run attacks with the defence off and see that the check which the
// attack is about then fails: a check that cannot fail proves nothing.
//
// There is nothing here but tests.
package attack
