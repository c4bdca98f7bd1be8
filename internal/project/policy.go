package project

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/policy"
)

func (p *Project) openPolicy(cfg *config.Config) (*policy.Policy, error) {
	base, err := policy.New(policyRules(cfg.Policy))
	if err != nil {
		return nil, err
	}
	remembered, err := p.Remembered()
	if err != nil {
		p.options.Logger.Debug("there are no remembered rules", "error", err)
		return base, nil
	}
	more, err := remembered.List()
	if tool.CodeOf(err) == tool.Unsupported {
		return nil, err // one of them may deny
	}
	if err != nil {
		p.options.Logger.Warn("a remembered rule is not used", "error", err)
	}
	return base.With(more...)
}

// policyRules returns a policy block's rules. Without one everything is allowed: containment and
// sandbox apply regardless.
func policyRules(block *config.Policy) policy.Rules {
	if block == nil {
		return policy.Rules{}
	}
	rules := policy.Rules{Risk: make(map[tool.Risk]policy.Action), Permission: make(map[tool.Permission]policy.Action)}
	for risk, action := range block.Risks {
		rules.Risk[risk] = policy.Action(action)
	}
	for permission, action := range block.Permissions {
		rules.Permission[permission] = policy.Action(action)
	}
	for _, r := range block.Rules {
		rules.Rules = append(rules.Rules, policy.Rule{
			Name: r.Name, Tool: r.Tool, Params: r.Params, Command: r.Command, Paths: r.Paths, Risk: r.Risk, Permission: r.Permission,
			Action: policy.Action(r.Action), Expires: r.Expires, Disabled: r.Disabled, Reason: r.Reason,
			Limits: policy.Limits(r.Limits),
		})
	}
	return rules
}

// Remembered returns the rules beside agent.hcl: from answers, and by toolhost rules.
func (p *Project) Remembered() (*policy.Remembered, error) {
	dir, err := policy.RememberedDir()
	if err != nil {
		return nil, err
	}
	return policy.OpenRemembered(dir, p.Workspace.Root(), p.Config().Workspace.Allow...)
}

func (p *Project) judge(_ context.Context, proposal host.Proposal) host.Decision {
	d := p.Decide(proposal)
	decision := host.Decision{Action: host.Action(d.Action), Rule: d.Rule, Reason: d.Reason}
	for _, l := range d.Limits {
		decision.Review = append(decision.Review, host.Bounds(l))
	}
	return decision
}

// Decide applies the granted permissions, then the policy.
func (p *Project) Decide(proposal host.Proposal) policy.Decision {
	if d, refused := p.refused(proposal); refused {
		return policy.Decision{Action: policy.Action(d.Action), Rule: d.Rule, Reason: d.Reason}
	}
	return p.policy.Load().Decide(p.policyRequest(proposal))
}

func (p *Project) policyRequest(proposal host.Proposal) policy.Request {
	request := policy.Request{
		Tool: proposal.Tool, Toolset: p.options.Toolset, Risk: proposal.Definition.Risk,
		Permissions: proposal.Definition.Permissions,
		Params:      proposal.Params, Argv: proposal.Argv, Places: p.places, Host: proposal.Connect,
	}
	if proposal.Connect != "" {
		return request
	}
	if slices.Contains(proposal.Definition.Permissions, tool.ShellExec) {
		var in struct { // by convention
			Command string         `json:"command"`
			Env     map[string]any `json:"env"`
		}
		_ = json.Unmarshal(proposal.Params, &in)
		if proposal.Argv == nil {
			request.Shell = in.Command
		}
		request.Variables = make(map[string]string)
		for name, value := range in.Env {
			request.Variables[name] = fmt.Sprint(value)
		}
	}
	return request
}

// places returns a path as written and with links resolved, in the workspace. A directory ends in a
// slash.
func (p *Project) places(name string) (all []string) {
	root := p.Workspace.Root()
	if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
		name = filepath.Join(root, name)
	}
	add := func(place string) {
		rel, err := filepath.Rel(root, place)
		if err != nil || !filepath.IsLocal(rel) {
			return
		}
		rel = filepath.ToSlash(rel)
		if info, err := os.Stat(place); err == nil && info.IsDir() {
			rel += "/"
		}
		if !slices.Contains(all, rel) {
			all = append(all, rel)
		}
	}
	add(name)
	if real, err := realpath.Of(name); err == nil {
		add(real)
	}
	return all
}

// remember stores a user's "always".
func (p *Project) remember(_ context.Context, proposal host.Proposal) error {
	remembered, err := p.Remembered()
	if err != nil {
		return err
	}
	rule, err := pendingApprovals{p}.call("", proposal).Always()
	if err != nil {
		return err
	}
	if err := remembered.Add(rule); err != nil {
		return err
	}
	rule.Remembered = true
	next, err := p.policy.Load().With(rule)
	if err == nil {
		p.policy.Store(next)
	}
	return err
}
