package project

import (
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/policy"
)

// enforce applies a configuration's rules and granted permissions.
func (p *Project) enforce(rules *policy.Policy, cfg *config.Config) {
	p.policy.Store(rules)
	granted := cfg.Granted
	p.granted.Store(&granted)
}

// refused denies a call of a tool that needs an ungranted permission. The toolset ocode does so itself:
// there not every call needs all that its tool declares.
func (p *Project) refused(proposal host.Proposal) (host.Decision, bool) {
	granted := p.granted.Load()
	if granted == nil || *granted == nil || builtinToolset(p.options.Toolset).OwnPermissions {
		return host.Decision{}, false
	}
	for _, needed := range proposal.Definition.Permissions {
		if !slices.Contains(*granted, needed) {
			return host.Decision{
				Action: host.Deny, Rule: "permission " + string(needed),
				Reason: fmt.Sprintf("Permission denied: %s required, and the permissions block of agent.hcl does not grant it", needed),
			}, true
		}
	}
	return host.Decision{}, false
}
