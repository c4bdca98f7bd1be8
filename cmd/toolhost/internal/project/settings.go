package project

import (
	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/mcpclient/oauth"
	"github.com/toolhost/toolhost/host/subagent"
)

// agentSettings are the agent blocks for the plugins that delegate.
func agentSettings(cfg *config.Config) subagent.Agents {
	agents := subagent.Agents{}
	for _, a := range cfg.Agents {
		agents = append(agents, subagent.Agent{
			Role: a.Role, Description: a.Description, Command: a.Command, Prompt: a.Prompt, Env: a.Env, Timeout: a.Timeout,
			Network: a.Access.Network, Read: a.Access.Read, Write: a.Access.Write,
		})
	}
	return agents
}

// webSettings is the web block for the plugins that fetch and search.
func webSettings(cfg *config.Config) map[string]any {
	settings := make(map[string]any)
	if len(cfg.Web.Allow) > 0 {
		settings["allow"] = cfg.Web.Allow
	}
	if cfg.Web.Search != "" {
		settings["search"] = cfg.Web.Search
	}
	if cfg.Web.MaxSize > 0 {
		settings["max_size"] = cfg.Web.MaxSize
	}
	if cfg.Web.Timeout > 0 {
		settings["timeout_ms"] = cfg.Web.Timeout.Milliseconds()
	}
	return settings
}

// contractConfig is what a contract's plugin learns of agent.hcl.
func (p *Project) contractConfig(name string, cfg *config.Config) map[string]any {
	settings := map[string]any{"confine": p.confineSettings(cfg)}
	if name == "cliagent" && len(cfg.Web.Allow) > 0 {
		settings["web_allow"] = cfg.Web.Allow
	}
	if runsTasks(name) {
		settings["agents"] = agentSettings(cfg)
	}
	if name == ownPermissions && cfg.Granted != nil {
		settings["permissions"] = cfg.Granted
	}
	if name == ownPermissions && len(cfg.Servers) > 0 {
		settings["servers"], settings["secrets"], settings["cache_dir"] = p.upstreamSpecs(cfg), append([]string{}, cfg.Secrets...), cacheDir("mcp")
		place := p.pinsPlace(cfg)
		if place.Dir != "" {
			place.Seed = nil // it has been adopted there
		}
		settings["pins"] = place
		if dir, err := oauth.Dir(); err == nil && p.usableLogins(cfg) != nil {
			settings["login_dir"] = dir
		}
	}
	if name == "clemini" {
		settings["web"] = webSettings(cfg)
	}
	return settings
}
