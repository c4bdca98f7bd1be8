// Package policy decides whether a call may run: allow, ask or deny. It is a
// pure function of the call and the rules, so that the same question always
// has the same answer and explaining a decision is making it.
//
// Rules come first. Of those that match, deny beats ask beats allow, whatever
// their order. Where none matches, the defaults for the tool's risk and
// permissions decide, the strictest of them. A rule that the user has stored
// by answering "always" settles a later question about exactly the same call;
// it never overrides a deny.
//
// Rules about commands look at every command that a shell line would run, and
// through wrappers such as env, sudo, timeout, xargs and sh -c. A rule that
// denies or asks matches when any of them matches, however the arguments are
// arranged; a rule that allows matches only when all of them match word for
// word. A line of which any part is not understood may run anything: rules that
// deny or ask match it, rules that allow do not.
package policy
