// Package policy decides whether a call may run: allow, ask or deny. It is a pure function of the call and the
// rules, so the same question always has the same answer, and an explanation is the decision itself.
//
// Rules come first. Of those that match, deny beats ask beats allow, in any order. If none matches, the strictest
// default for the tool's risk and permissions decides. A rule stored by the answer "always" settles a later
// question about exactly the same call; it never overrides a deny.
//
// Rules about commands look at every command of a shell line, also through wrappers such as env, sudo, timeout,
// xargs and sh -c. A rule that denies or asks matches if any command does, in any order of arguments; a rule that
// allows matches only if all commands match word for word. A line that is not fully understood may run anything:
// rules that deny or ask match it, rules that allow do not.
package policy
