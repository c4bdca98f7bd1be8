package clemini

import (
	"context"
	_ "embed"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

type config struct {
	// Confine is how commands are confined.
	Confine sandbox.Settings `json:"confine"`
	// Agents are the programs that task runs.
	Agents subagent.Agents `json:"agents"`
	Web    struct {
		// Allow, MaxSize and Timeout are the web block's.
		Allow     []string `json:"allow"`
		MaxSize   int64    `json:"max_size"`
		TimeoutMS int64    `json:"timeout_ms"`
		// Search is the engine for web_search.
		Search string `json:"search"`
	} `json:"web"`
	OutputCap int `json:"output_cap"`
}

//go:embed config.json
var configSchema []byte

// Plugin returns the tools as a plugin.
func Plugin() sdk.Plugin {
	described, _ := New(Deps{}) // fails only for Deps with content
	return sdk.Plugin{
		Name:    "clemini",
		Version: Version,
		Tools:   described,
		ConfigSchema: toolspec.Fill(configSchema, `"$confine"`, sandbox.SettingsSchema, `"$agents"`,
			subagent.Schema),
		Configure: func(_ context.Context, env sdk.Env) ([]tool.Tool, error) {
			deps, err := configure(env)
			if err != nil {
				return nil, err
			}
			return New(deps)
		},
		RenderError: RenderError,
	}
}

func configure(env sdk.Env) (Deps, error) {
	var c config
	if err := env.Decode(&c); err != nil {
		return Deps{}, err
	}
	ws, err := kit.OpenWorkspace(env.Workspace, c.Confine)
	if err != nil {
		return Deps{}, err
	}
	web, err := netguard.New(netguard.Options{
		Allow: c.Web.Allow, MaxBytes: c.Web.MaxSize, Timeout: time.Duration(c.Web.TimeoutMS) * time.Millisecond,
	})
	if err != nil {
		return Deps{}, err
	}
	return Deps{
		Workspace: ws, Trees: env.Workspace.Allow, Confine: c.Confine, Agents: c.Agents, Web: web,
		SearchURL: c.Web.Search, OutputCap: c.OutputCap, Tasks: kit.Tasks(c.Confine),
	}, nil
}
