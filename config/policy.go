package config

import (
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/tool"
)

func actions() []string { return []string{string(Allow), string(Review), string(Ask), string(Deny)} }

// policy reads the policy block: actions for risks and permissions, and rules.
func (r *reader) policy(b *hcl.Block) {
	blk := r.open(b, "policy")
	p := &Policy{Pos: pos(b.DefRange)}
	for _, risk := range risks() {
		var action string
		if blk.oneOf(risk, &action, actions()...) {
			if p.Risks == nil {
				p.Risks = make(map[tool.Risk]Action)
			}
			p.Risks[tool.Risk(risk)] = Action(action)
		}
	}
	blk.permissionActions(p)
	for _, nested := range blk.blocks {
		if r.once("rule", nested.Labels[0], nested.LabelRanges[0]) {
			p.Rules = append(p.Rules, r.rule(nested))
		}
	}
	r.cfg.Policy = p
}

func (b block) permissionActions(p *Policy) {
	for _, e := range b.entries("permissions") {
		b.checkPermission(e.key, e.at)
		if !slices.Contains(actions(), e.value) {
			b.fail(e.at, "Unknown value", mustBe(e.value, actions()), "An action cannot be %q.", e.value)
			continue
		}
		if p.Permissions == nil {
			p.Permissions = make(map[tool.Permission]Action)
		}
		p.Permissions[tool.Permission(e.key)] = Action(e.value)
	}
}

func (r *reader) rule(b *hcl.Block) Rule {
	blk := r.open(b, "rule")
	blk.require("action")
	rule := Rule{Name: b.Labels[0], Pos: pos(b.DefRange)}
	var action, risk, permission string
	blk.text("tool", &rule.Tool)
	blk.pattern("params", &rule.Params)
	blk.text("command", &rule.Command)
	if blk.text("permission", &permission) {
		r.checkPermission(permission, blk.where("permission"))
		rule.Permission = tool.Permission(permission)
	}
	if blk.oneOf("risk", &risk, risks()...) {
		rule.Risk = tool.Risk(risk)
	}
	blk.oneOf("action", &action, actions()...)
	rule.Action = Action(action)
	blk.time("expires", &rule.Expires)
	blk.boolean("disabled", &rule.Disabled)
	blk.text("reason", &rule.Reason)
	blk.bounds(&rule)
	if !slices.ContainsFunc([]string{"tool", "params", "command", "permission", "risk"}, blk.has) && rule.Paths == nil {
		r.fail(b.DefRange, "Rule without a condition", "Add tool, paths, params, command, permission or risk.",
			"The rule %q would match every call.", rule.Name)
	}
	return rule
}

// bounds reads the limits of a call under review, or for others the paths that they name.
func (b block) bounds(rule *Rule) {
	for _, name := range []string{"files", "deletes", "bytes", "beyond"} {
		if b.has(name) && rule.Action != Review {
			b.fail(b.where(name), "Limit without review", `Write action = "review", or leave it out.`,
				"%s is about what a call under review may change.", name)
		}
	}
	to := &rule.Limits
	b.count("files", &to.Files)
	paths := &to.Paths
	if rule.Action != Review {
		paths = &rule.Paths
	}
	b.texts("paths", paths)
	b.boolean("deletes", &to.Deletes)
	b.size("bytes", &to.Bytes)
	var beyond string
	b.oneOf("beyond", &beyond, string(Ask), string(Deny))
	to.Deny = beyond == string(Deny)
	for _, glob := range *paths {
		if !doublestar.ValidatePattern(glob) {
			b.fail(b.where("paths"), "Invalid glob", "Close its brackets and braces; ** stands for any directories.",
				"paths cannot be %q.", glob)
		}
	}
}

// time sets a point in time in RFC 3339.
func (b block) time(name string, to *time.Time) {
	var s string
	if !b.text(name, &s) {
		return
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		b.fail(b.where(name), "Invalid time", `Write it as "2027-01-31T18:00:00Z".`, "%s cannot be %q.", name, s)
		return
	}
	*to = t
}
