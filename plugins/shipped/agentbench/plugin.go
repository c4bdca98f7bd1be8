package agentbench

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// SandboxEnv is the environment variable by which the operator, with the
// value off, lets commands run without a sandbox.
const SandboxEnv = "TOOLHOST_SANDBOX"

// config is the plugin's configuration.
type config struct {
	// Symlinks overrides what the workspace says: "block" or "inside".
	Symlinks string `json:"symlinks"`
	// TimeoutSec bounds a command whose call names no timeout.
	TimeoutSec int `json:"timeout_sec"`
	// Search is "auto", "builtin" or "ripgrep".
	Search string `json:"search"`
}

const configSchema = `{"type":"object","properties":{` +
	`"symlinks":{"type":"string","enum":["block","inside"],"description":"Whether symbolic links are refused (block, the default) or followed while they stay in the workspace (inside)."},` +
	`"timeout_sec":{"type":"integer","minimum":1,"maximum":86400,"description":"Seconds after which run ends a command whose call names no timeout; 60 when left out."},` +
	`"search":{"type":"string","enum":["auto","builtin","ripgrep"],"description":"What search works with; ripgrep fails where the program is missing."}` +
	`},"additionalProperties":false}`

// Plugin is the tools as a plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{
		Name:         "agentbench",
		Version:      Version,
		Tools:        New(Deps{}),
		ConfigSchema: json.RawMessage(configSchema),
		Configure: func(_ context.Context, env sdk.Env) ([]tool.Tool, error) {
			deps, err := configure(env)
			if err != nil {
				return nil, err
			}
			return New(deps), nil
		},
	}
}

func configure(env sdk.Env) (Deps, error) {
	var c config
	if err := env.Decode(&c); err != nil {
		return Deps{}, err
	}
	ws, err := open(env.Workspace, c.Symlinks)
	if err != nil {
		return Deps{}, err
	}
	deps := Deps{
		Workspace:  ws,
		RunTimeout: time.Duration(c.TimeoutSec) * time.Second,
		Unconfined: os.Getenv(SandboxEnv) == "off",
	}
	if c.Search == "ripgrep" {
		deps.Search = Ripgrep(ws)
	}
	return deps, nil
}

// open opens the workspace. The contract blocks symbolic links unless the
// operator says otherwise.
func open(w sdk.Workspace, symlinks string) (*workspace.Workspace, error) {
	options := workspace.Options{Allow: w.Allow, Protect: w.Protect, Symlinks: workspace.Block}
	if symlinks == "" {
		symlinks = w.Symlinks
	}
	if symlinks == "inside" {
		options.Symlinks = workspace.Inside
	}
	return workspace.Open(w.Root, options)
}
