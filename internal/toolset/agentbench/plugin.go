package agentbench

import (
	"cmp"
	"context"
	_ "embed"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

type config struct {
	// Symlinks overrides the workspace's setting: "block" or "inside".
	Symlinks string `json:"symlinks"`
	// TimeoutSec is for a command whose call has no timeout.
	TimeoutSec int `json:"timeout_sec"`
	// Confine is how commands are confined.
	Confine sandbox.Settings `json:"confine"`
}

//go:embed config.json
var configSchema []byte

// Plugin returns the tools as a plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{
		Name:         "agentbench",
		Version:      Version,
		Tools:        New(Deps{}),
		ConfigSchema: toolspec.Fill(configSchema, `"$confine"`, sandbox.SettingsSchema),
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
	ws, err := open(env.Workspace, c.Symlinks, c.Confine)
	if err != nil {
		return Deps{}, err
	}
	return Deps{
		Workspace:  ws,
		RunTimeout: time.Duration(c.TimeoutSec) * time.Second,
		Prepare:    c.Confine.ConfineTelling(ws.Root(), env.Workspace.Allow...),
		Denied:     c.Confine.Denied(ws.Root(), env.Workspace.Allow...),
	}, nil
}

// open opens the workspace. The contract blocks symbolic links by default.
func open(w sdk.Workspace, symlinks string, confine sandbox.Settings) (*workspace.Workspace, error) {
	w.Symlinks = cmp.Or(symlinks, w.Symlinks, "block")
	return kit.OpenWorkspace(w, confine)
}
