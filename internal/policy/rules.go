package policy

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
)

// Action says what to do with a call.
type Action string

// The actions, from weakest to strongest. Review runs the call in a view of the workspace; its changes are decided
// on afterwards.
const (
	Allow  Action = "allow"
	Review Action = "review"
	Ask    Action = "ask"
	Deny   Action = "deny"
)

func (a Action) Valid() bool { return a.strength() > 0 }

func (a Action) strength() int {
	switch a {
	case Allow:
		return 1
	case Review:
		return 2
	case Ask:
		return 3
	case Deny:
		return 4
	}
	return 0
}

// Rule is an action for the calls that meet all of its non-empty conditions.
type Rule struct {
	// Name names the rule in decisions.
	Name string `json:"name"`
	// Tool is a tool's name; "*" in it matches any characters.
	Tool string `json:"tool,omitempty"`
	// Toolset restricts the rule to calls in that toolset, "" being that of all tools; nil means any.
	Toolset *string `json:"toolset,omitempty"`
	// Params is a regular expression (RE2) for the parameters as compact JSON with sorted keys; see
	// [CanonicalJSON]. It is not anchored.
	Params string `json:"params,omitempty"`
	// Host is "HOST:PORT" in a rule about connections of processes. Such a rule matches no calls, and others match
	// no connections.
	Host string `json:"host,omitempty"`
	// Command is a pattern of words. To deny or ask, "git push --force" matches wherever the words are among the
	// arguments. To allow, the words must be the whole command; a last "*" stands for any further words, as in "go
	// test *".
	Command string `json:"command,omitempty"`
	// Paths are globs of places, relative to the workspace, that a call must name: one of them to deny or ask,
	// nothing else to allow.
	Paths []string `json:"paths,omitempty"`
	// Risk and Permission restrict the rule to tools that have them.
	Risk       tool.Risk       `json:"risk,omitempty"`
	Permission tool.Permission `json:"permission,omitempty"`
	Action     Action          `json:"action"`
	// Limits bound the changes of a reviewed call that need no approval. Only for Review.
	Limits Limits `json:"limits,omitzero"`
	// Expires ends the rule. The zero time means never.
	Expires time.Time `json:"expires,omitzero"`
	// Disabled makes the rule match nothing.
	Disabled bool `json:"disabled,omitempty"`
	// Reason is the author's explanation for users that the rule stops.
	Reason string `json:"reason,omitempty"`
	// Remembered marks an answer "always". Such a rule beats ask, but not deny.
	Remembered bool `json:"-"`
}

// Limits bound a call's changes; see host.Bounds.
type Limits struct {
	Files   int      `json:"files,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Deletes bool     `json:"deletes,omitempty"`
	Deny    bool     `json:"deny,omitempty"`
}

// String describes the changes that need no approval.
func (l Limits) String() string {
	var all []string
	if l.Files > 0 {
		all = append(all, fmt.Sprintf("at most %d paths", l.Files))
	}
	if l.Bytes > 0 {
		all = append(all, fmt.Sprintf("at most %d bytes", l.Bytes))
	}
	if len(l.Paths) > 0 {
		all = append(all, "only "+strings.Join(l.Paths, ", "))
	}
	if len(all) == 0 {
		return "every change is shown first"
	}
	if !l.Deletes {
		all = append(all, "nothing removed")
	}
	beyond := "asked about"
	if l.Deny {
		beyond = "denied"
	}
	return "changes pass within: " + strings.Join(all, "; ") + ". What goes beyond is " + beyond
}

// Rules is a whole policy as configured. The zero Rules allow everything.
type Rules struct {
	// Risk and Permission are the actions if no rule matches; the strictest that applies counts.
	Risk       map[tool.Risk]Action
	Permission map[tool.Permission]Action
	// Default is the action if neither has an entry that applies. Empty means allow.
	Default Action
	Rules   []Rule
}

// Policy is a compiled set of rules. It is immutable and safe for concurrent use.
type Policy struct {
	rules    Rules
	compiled []compiledRule
	commands bool
}

type compiledRule struct {
	Rule
	params  *regexp.Regexp
	command *pattern
}

// New checks and compiles rules. The error names every wrong rule and is a *tool.Error with code invalid_argument.
func New(rules Rules) (*Policy, error) {
	p := &Policy{rules: rules}
	var errs []error
	for risk, action := range rules.Risk {
		if !risk.Valid() || !action.Valid() {
			errs = append(errs, fmt.Errorf("%q = %q: the risks are read_only, safe_write and dangerous, the "+
				"actions allow, review, ask and deny", risk, action))
		}
	}
	for permission, action := range rules.Permission {
		if !action.Valid() {
			errs = append(errs,
				fmt.Errorf("permission %s = %q: the actions are allow, review, ask and deny", permission, action))
		}
	}
	for i, rule := range rules.Rules {
		compiled, err := compile(rule)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", ruleName(rule, i), err))
			continue
		}
		p.compiled = append(p.compiled, compiled)
		p.commands = p.commands || compiled.command != nil
	}
	if err := errors.Join(errs...); err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "the policy has mistakes: %w", err).
			Suggest("Correct the rules that are named.")
	}
	return p, nil
}

func ruleName(r Rule, at int) string {
	if r.Name != "" {
		return fmt.Sprintf("rule %q", r.Name)
	}
	return fmt.Sprintf("rule %d", at+1)
}

func compile(rule Rule) (c compiledRule, err error) {
	c.Rule = rule
	switch {
	case !rule.Action.Valid():
		return c, fmt.Errorf("action %q is none of allow, review, ask and deny", rule.Action)
	case rule.Risk != "" && !rule.Risk.Valid():
		return c, fmt.Errorf("risk %q is none of read_only, safe_write and dangerous", rule.Risk)
	}
	if _, err := path.Match(rule.Tool, ""); err != nil {
		return c, fmt.Errorf("tool %q is not a valid name: %w", rule.Tool, err)
	}
	for _, glob := range rule.Paths {
		if !doublestar.ValidatePattern(glob) {
			return c, fmt.Errorf("the glob %q does not parse", glob)
		}
	}
	if rule.Params != "" {
		if c.params, err = regexp.Compile(rule.Params); err != nil {
			return c, fmt.Errorf("params: %w", err)
		}
	}
	if rule.Command != "" {
		if c.command, err = compilePattern(rule.Command); err != nil {
			return c, fmt.Errorf("command: %w", err)
		}
	}
	return c, nil
}

// With returns a policy with further rules, such as remembered ones, after its own.
func (p *Policy) With(more ...Rule) (*Policy, error) {
	rules := p.rules
	rules.Rules = append(append([]Rule{}, rules.Rules...), more...)
	return New(rules)
}

// concerns reports whether the rule applies to such a tool at all.
func (c *compiledRule) concerns(r *Request) bool {
	return !c.Disabled &&
		(c.Expires.IsZero() || r.now().Before(c.Expires)) &&
		matchesTool(c.Tool, r.Tool) && c.Host == r.Host &&
		(c.Toolset == nil || *c.Toolset == r.Toolset) &&
		(c.Risk == "" || c.Risk == r.Risk) &&
		(c.Permission == "" || r.needs(c.Permission))
}

func matchesTool(pattern, name string) bool {
	if pattern == "" || pattern == name {
		return true
	}
	return strings.Contains(pattern, "*") && wildcard(pattern, name)
}
