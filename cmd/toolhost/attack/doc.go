// Package attack is the catalogue of attacks on toolhost: each case drives the built program over the
// command line or MCP, with the same checks after each. Nothing outside the workspace has changed, no
// planted secret is shown, the host still answers, no process, temporary file, socket or mount is left,
// there was one well-formed result with a stable code, the files concerned are whole, and a forbidden
// server was not reached.
//
// Controls run attacks with the defence off and check that the attack's check then fails: a check that
// cannot fail proves nothing.
package attack
