package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Request is a call to decide about.
type Request struct {
	Tool string
	// Toolset is the caller's, empty for all tools.
	Toolset     string
	Risk        tool.Risk
	Permissions []tool.Permission
	// Params are the parameters, any JSON object.
	Params json.RawMessage
	// Argv is the command that the call would run without a shell, Shell the line for one. At most one is set.
	Argv  []string
	Shell string
	// Variables are the environment variables that the call sets for it.
	Variables map[string]string
	// Host is "HOST:PORT" for a request about a connection of the call's processes, instead of the call.
	Host string
	// Places returns the places in the workspace for a text that a tool may take for a path: slash paths relative
	// to the workspace, as written and with links resolved; a directory ends in a slash. Nil means unknown.
	Places func(text string) []string
	// Now is the time for expiry. Zero means the current time.
	Now time.Time
}

func (r *Request) now() time.Time {
	if r.Now.IsZero() {
		return time.Now()
	}
	return r.Now
}

func (r *Request) needs(p tool.Permission) bool { return slices.Contains(r.Permissions, p) }

// Decision is a policy's answer to a Request.
type Decision struct {
	Action Action `json:"action"`
	// Rule is the rule that decided, or a default such as "risk dangerous".
	Rule string `json:"rule"`
	// Reason explains the decision in a sentence.
	Reason string `json:"reason"`
	// Matches are all rules that matched or might match, in order.
	Matches []Match `json:"matches,omitempty"`
	// Limits are those of all rules that require a review.
	Limits []Limits `json:"limits,omitempty"`
}

// Match is a rule that matched or might.
type Match struct {
	Rule   string `json:"rule"`
	Action Action `json:"action"`
	// Why says what it matched, or why that is not certain.
	Why string `json:"why"`

	limits Limits // of a rule that requires a review
}

// Decide decides about a call.
func (p *Policy) Decide(r Request) Decision {
	r.takeLine()
	d := deciding{request: &r, patterns: regexlimit.NewBudget(patternTime)}
	if p.commands && r.Host == "" {
		d.line = r.line()
	}
	for i := range p.compiled {
		d.consider(&p.compiled[i])
	}
	d.allowCommands()
	if d.line != nil && d.line.unreadable != "" {
		d.add(Match{Rule: "unreadable command", Action: Ask,
			Why: "the command cannot be read for certain: " + d.line.unreadable}, false)
	}
	decision, decided := d.outcome()
	if !decided {
		decision = p.byDefault(&r)
	}
	decision.Matches = d.matches
	return decision
}

type deciding struct {
	request    *Request
	params     *string
	places     *places
	patterns   *regexlimit.Budget
	line       *line
	matches    []Match
	strongest  *Match
	remembered *Match
	// allowing are the rules that might allow the line's commands.
	allowing []*compiledRule
}

func (d *deciding) consider(c *compiledRule) {
	if !c.concerns(d.request) {
		return
	}
	if c.params != nil {
		// If the pattern takes too long, a rule that denies or asks matches, and one that allows does not.
		matched, known := d.patterns.Match(c.params, d.canonical())
		if !matched && (known || c.Action == Allow) {
			return
		}
	}
	if len(c.Paths) > 0 {
		if d.places == nil {
			found := d.request.places()
			d.places = &found
		}
		matched, certain := c.concernsPaths(d.request, *d.places)
		switch {
		case !matched:
			return
		case !certain:
			d.add(Match{Rule: c.Name, Action: Ask, Why: c.because("which places it uses is not known for certain")}, false)
			return
		}
	}
	switch {
	case c.command == nil:
		d.add(Match{Rule: c.Name, Action: c.Action, Why: c.because(c.describe()), limits: c.Limits}, c.Remembered)
	case c.Action == Allow:
		d.allowing = append(d.allowing, c)
	default:
		d.considerCommand(c)
	}
}

// patternTime limits the patterns of all rules for one call.
const patternTime = 2 * time.Second

// considerCommand handles rules that deny or ask because of a command. An unreadable line may run any command.
func (d *deciding) considerCommand(c *compiledRule) {
	if d.line == nil {
		return
	}
	found, certain := c.command.find(d.line)
	switch {
	case !certain && d.line.unreadable != "":
		d.add(Match{Rule: c.Name, Action: c.Action, Why: c.because(fmt.Sprintf(
			"the command cannot be read for certain, so that %s may be in it: %s", c.Command, d.line.unreadable)),
			limits: c.Limits}, false)
	case found == nil:
	case certain:
		d.add(Match{Rule: c.Name, Action: c.Action, Why: c.because(fmt.Sprintf("%s matches %s", c.Command, found)),
			limits: c.Limits}, false)
	default:
		d.add(Match{Rule: c.Name, Action: Ask,
			Why: c.because(fmt.Sprintf("%s might match %s, which the shell completes", c.Command, found))}, false)
	}
}

// allowCommands combines the rules that allow commands: each command of the line must match one. A line that
// sets variables, writes to files or cannot be read does more than its words say.
func (d *deciding) allowCommands() {
	l := d.line
	if l == nil || l.unreadable != "" || l.assigns || l.writes || len(d.allowing) == 0 {
		return
	}
	var matches []Match
	var by []*compiledRule
	for i, c := range l.commands {
		if c.transparent {
			continue
		}
		at := slices.IndexFunc(d.allowing, func(r *compiledRule) bool { return r.command.matchStrictly(c) })
		if at < 0 {
			return
		}
		if rule := d.allowing[at]; !slices.Contains(by, rule) {
			by = append(by, rule)
			matches = append(matches,
				Match{Rule: rule.Name, Action: Allow, Why: fmt.Sprintf("%s matches %s", rule.Command, &l.commands[i])})
		}
	}
	for i, m := range matches {
		d.add(m, by[i].Remembered)
	}
}

// canonical returns the parameters' text, computed once.
func (d *deciding) canonical() string {
	if d.params == nil {
		text := CanonicalJSON(d.request.Params)
		d.params = &text
	}
	return *d.params
}

func (d *deciding) add(m Match, remembered bool) {
	d.matches = append(d.matches, m)
	if remembered && m.Action == Allow {
		if d.remembered == nil {
			d.remembered = &m
		}
		return
	}
	if d.strongest == nil || m.Action.strength() > d.strongest.Action.strength() {
		d.strongest = &m
	}
}

func (d *deciding) outcome() (Decision, bool) {
	m := d.strongest
	if d.remembered != nil && (m == nil || m.Action != Deny) {
		m = d.remembered
	}
	if m == nil {
		return Decision{}, false
	}
	decision := m.decision()
	for _, other := range d.matches {
		if m.Action == Review && other.Action == Review {
			decision.Limits = append(decision.Limits, other.limits)
		}
	}
	return decision, true
}

func (m Match) decision() Decision {
	return Decision{Action: m.Action, Rule: m.Rule, Reason: fmt.Sprintf("%s by rule %q: %s", pastOf(m.Action), m.Rule, m.Why)}
}

func pastOf(a Action) string {
	switch a {
	case Allow:
		return "allowed"
	case Ask:
		return "needs approval"
	case Review:
		return "reviewed"
	}
	return "denied"
}

// because adds the author's reason to what a rule matched.
func (c *compiledRule) because(why string) string {
	if c.Reason == "" {
		return why
	}
	return why + " (" + c.Reason + ")"
}

func (c *compiledRule) describe() string {
	var conditions []string
	for _, condition := range []struct{ name, value string }{
		{"tool", c.Tool}, {"host", c.Host}, {"risk", string(c.Risk)}, {"permission", string(c.Permission)}, {"params", c.Params},
	} {
		if condition.value != "" {
			conditions = append(conditions, condition.name+" "+condition.value)
		}
	}
	if len(c.Paths) > 0 {
		conditions = append(conditions, "paths "+strings.Join(c.Paths, ", "))
	}
	if len(conditions) == 0 {
		return "it matches every call"
	}
	return "it matches " + strings.Join(conditions, ", ")
}

func (p *Policy) byDefault(r *Request) Decision {
	if r.Host != "" {
		return Decision{Action: Ask, Rule: "network", Reason: fmt.Sprintf("a process of %s wants to reach %s", r.Tool, r.Host)}
	}
	action, kind, of := p.defaultFor(r)
	if kind == "default" {
		return Decision{Action: action, Rule: kind, Reason: pastOf(action) + " because no rule says otherwise"}
	}
	rule := kind + " " + of
	decision := Decision{Action: action, Rule: rule, Reason: pastOf(action) + " by the default for " + rule}
	if action == Review {
		decision.Limits = []Limits{{}}
	}
	return decision
}

// defaultFor returns the strongest action of the request's risk and permissions, and which of them it is for.
func (p *Policy) defaultFor(r *Request) (action Action, kind, of string) {
	choose := func(a Action, k, o string) {
		if a.strength() > action.strength() {
			action, kind, of = a, k, o
		}
	}
	choose(p.rules.Risk[r.Risk], "risk", string(r.Risk))
	for _, permission := range r.Permissions {
		choose(p.rules.Permission[permission], "permission", string(permission))
	}
	if action == "" {
		choose(p.rules.Default, "default", "")
	}
	if action == "" {
		choose(Allow, "default", "")
	}
	return action, kind, of
}

// AlwaysDenied reports whether and why every call of a tool would be denied, so that it need not be listed. Only the
// tool, its risk and its permissions count.
func (p *Policy) AlwaysDenied(r Request) (why Decision, always bool) {
	open := false
	for i := range p.compiled {
		c := &p.compiled[i]
		switch {
		case !c.concerns(&r):
		case c.Action == Deny && c.params == nil && c.command == nil && len(c.Paths) == 0:
			return Match{Rule: c.Name, Action: Deny, Why: c.because(c.describe())}.decision(), true
		case c.Action != Deny:
			open = true
		}
	}
	why = p.byDefault(&r)
	return why, !open && why.Action == Deny
}

// Explain formats the decision for people: the action, its rule, and the other matching rules, one per
// line.
func (d Decision) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", d.Action, show.Line(d.Reason))
	for _, l := range d.Limits {
		fmt.Fprintf(&b, "  %s\n", show.Line(l.String()))
	}
	for _, m := range d.Matches {
		fmt.Fprintf(&b, "  %-5s  rule %s: %s\n", m.Action, show.Line(strconv.Quote(m.Rule)), show.Line(m.Why))
	}
	return b.String()
}
