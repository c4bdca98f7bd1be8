package project

import (
	"encoding/json"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

func agentSettings(cfg *config.Config, root string) subagent.Agents {
	agents := subagent.Agents{}
	for _, a := range cfg.Agents {
		agents = append(agents, subagent.Agent{
			Role: a.Role, Description: a.Description, Command: a.Command, Prompt: a.Prompt, Env: a.Env,
			Timeout: a.Timeout,
			Network: a.Access.Network, Hosts: a.Access.Hosts, Read: a.Access.Read, Write: a.Access.Write,
			Files: cfg.ApprovedFiles(root, a.Command),
		})
	}
	return agents
}

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

// contractConfig returns a contract plugin's configuration from agent.hcl: the settings below that it accepts.
func (p *Project) contractConfig(name string, cfg *config.Config) map[string]any {
	var accepted struct{ Properties map[string]json.RawMessage }
	plugin, _ := shippedPlugin(name)
	if err := json.Unmarshal(plugin.ConfigSchema, &accepted); err != nil {
		panic(err) // part of this program
	}
	settings := make(map[string]any)
	for key := range accepted.Properties {
		if value, ok := p.contractSetting(key, cfg); ok {
			settings[key] = value
		}
	}
	return settings
}

// contractSetting returns a setting of contracts' plugins; false if unknown or not in agent.hcl.
func (p *Project) contractSetting(key string, cfg *config.Config) (value any, ok bool) {
	switch key {
	case "confine":
		return p.confineSettings(cfg), true
	case "agents":
		return agentSettings(cfg, p.Workspace.Root()), true
	case "web":
		return webSettings(cfg), true
	case "web_allow":
		return cfg.Web.Allow, len(cfg.Web.Allow) > 0
	case "permissions":
		return cfg.Granted, cfg.Granted != nil
	}
	if len(cfg.Servers) == 0 {
		return nil, false
	}
	switch key {
	case "servers":
		return p.upstreamSpecs(cfg), true
	case "secrets":
		return append([]string{}, cfg.Secrets...), true
	case "cache_dir":
		return userdir.Cache("mcp"), true
	case "pins":
		place := p.pinsPlace(cfg)
		if place.Dir != "" {
			place.Seed = nil // already adopted there
		}
		return place, true
	case "login_dir":
		dir, err := oauth.Dir()
		return dir, err == nil && p.usableLogins(cfg) != nil
	}
	return nil, false
}
