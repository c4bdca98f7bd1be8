// Package attack is the catalogue of attacks on toolhost: each case drives the built program over the
// command line or MCP. After each it checks that nothing outside the workspace has changed, that no
// planted secret is shown, that the host still answers, that no process, temporary file, socket or mount
// is left, that there was one well-formed result with a stable code, that the files concerned are whole,
// and that a forbidden server was not reached.
//
// Controls run attacks with the defence off and check that the attack's check then fails: a check that
// cannot fail proves nothing.
package attack
