package agentbench

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/search"
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
	// Search is what searches.
	Search search.Engine `json:"search"`
	// Sandbox is the level at which commands are confined, and Image the
	// container image of level docker.
	Sandbox sandbox.Level `json:"sandbox"`
	Image   string        `json:"image"`
}

const configSchema = `{"type":"object","properties":{` +
	`"symlinks":{"type":"string","enum":["block","inside"],"description":"Whether symbolic links are refused (block, the default) or followed while they stay in the workspace (inside)."},` +
	`"timeout_sec":{"type":"integer","minimum":1,"maximum":86400,"description":"Seconds after which run ends a command whose call names no timeout; 60 when left out."},` +
	`"search":{"type":"string","enum":["auto","builtin","ripgrep"],"description":"What search works with; ripgrep fails where the program is missing."},` +
	`"sandbox":{"type":"string","enum":["auto","full","landlock","docker","off"],"description":"How commands are confined; auto, the default, is the strongest that works here."},` +
	`"image":{"type":"string","description":"The container image of sandbox docker."}` +
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
	level := c.Sandbox
	if os.Getenv(SandboxEnv) == string(sandbox.Off) {
		level = sandbox.Off
	}
	return Deps{
		Workspace:  ws,
		Search:     search.New(ws, search.Options{Engine: c.Search}),
		RunTimeout: time.Duration(c.TimeoutSec) * time.Second,
		Prepare: confine(sandbox.Policy{
			Level: level, Image: c.Image, Workspace: ws.Root(), ReadWrite: env.Workspace.Allow,
		}),
	}, nil
}

// confine has commands run under a policy, and tells at which level they do.
func confine(p sandbox.Policy) func(*exec.Cmd) (map[string]any, error) {
	return func(cmd *exec.Cmd) (map[string]any, error) {
		level, err := sandbox.Apply(cmd, p)
		return map[string]any{"sandbox": string(level)}, err
	}
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
