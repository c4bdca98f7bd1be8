package main

import (
	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/command"
	"github.com/toolhost/toolhost/host/tool"
)

// ownOffers makes the resources and prompts of agent.hcl.
func (p *project) ownOffers(cfg *config.Config, deps command.Deps) ([]tool.Resource, []tool.Prompt, error) {
	var resources []tool.Resource
	for _, declared := range cfg.Resources {
		deps.Prepare = p.confine(cfg, false, declared.Risk)
		r, err := command.NewResource(declared, deps)
		if err != nil {
			return nil, nil, err
		}
		resources = append(resources, r)
	}
	var prompts []tool.Prompt
	for _, declared := range cfg.Prompts {
		made, err := command.NewPrompt(declared, deps)
		if err != nil {
			return nil, nil, err
		}
		prompts = append(prompts, made)
	}
	return resources, prompts, nil
}
