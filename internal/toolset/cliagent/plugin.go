package cliagent

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Version is the plugin's version.
const Version = "1.0.0"

// Config is the plugin's configuration.
type Config struct {
	// WebAllow are further addresses for fetch_webpage; see netguard.Options.Allow.
	WebAllow []string `json:"web_allow,omitempty" jsonschema:"Addresses, address ranges and host names that fetch_webpage may reach although they are not public."`
	// OutputCap is Deps.OutputCap.
	OutputCap int `json:"output_cap,omitempty" jsonschema:"How many bytes of each output stream of a command are shown."`
	// Confine is how commands are confined.
	Confine sandbox.Settings `json:"confine,omitzero" jsonschema:"How commands are confined; the host fills it in."`
}

// Plugin returns the tools as a plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{
		Name:         "cliagent",
		Version:      Version,
		Tools:        New(Deps{}),
		ConfigSchema: sdk.Schema[Config](),
		Configure:    configure,
		RenderError:  RenderError,
	}
}

func configure(_ context.Context, env sdk.Env) ([]tool.Tool, error) {
	var config Config
	if err := env.Decode(&config); err != nil {
		return nil, err
	}
	ws, err := kit.OpenWorkspace(env.Workspace, config.Confine)
	if err != nil {
		return nil, err
	}
	web, err := NewWeb(config.WebAllow)
	if err != nil {
		return nil, err
	}
	return New(Deps{
		Workspace: ws, Web: web, OutputCap: config.OutputCap,
		Prepare: config.Confine.ConfineTelling(ws.Root(), env.Workspace.Allow...),
		Denied:  config.Confine.Denied(ws.Root(), env.Workspace.Allow...),
	}), nil
}

// NewWeb returns a client without a time limit of its own, so that timeout_seconds applies.
// allow is netguard.Options.Allow.
func NewWeb(allow []string) (*netguard.Client, error) {
	const most = maxFetchSeconds * time.Second
	return netguard.New(netguard.Options{
		Allow: allow, MaxBytes: maxPage,
		Timeout: most, ConnectTimeout: most, HeaderTimeout: most, IdleTimeout: most,
	})
}
