package clemini

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

// config is the plugin's configuration.
type config struct {
	// Confine is how commands are confined.
	Confine sandbox.Settings `json:"confine"`
	// Agents are the programs that task runs.
	Agents subagent.Agents `json:"agents"`
	Web    struct {
		// Allow, MaxSize and Timeout are those of the web block.
		Allow     []string `json:"allow"`
		MaxSize   int64    `json:"max_size"`
		TimeoutMS int64    `json:"timeout_ms"`
		// Search is what web_search asks.
		Search string `json:"search"`
	} `json:"web"`
	OutputCap int `json:"output_cap"`
}

const configSchema = `{"type":"object","properties":{"confine":` + sandbox.SettingsSchema + `,"agents":` +
	subagent.Schema + `,` +
	`"web":{"type":"object","description":"The web block; the host fills it in.","properties":{` +
	`"allow":{"type":"array","items":{"type":"string"}},"max_size":{"type":"integer"},"timeout_ms":{"type":"integer"},` +
	`"search":{"type":"string","description":"The URL that web_search asks, with the query in the parameter q."}},"additionalProperties":false},` +
	`"output_cap":{"type":"integer","minimum":1,"description":"How many bytes of each output stream of a command are shown."}` +
	`},"additionalProperties":false}`

// Plugin is the tools as a plugin.
func Plugin() sdk.Plugin {
	described, _ := New(Deps{}) // fails for what Deps could not hold
	return sdk.Plugin{
		Name:         "clemini",
		Version:      Version,
		Tools:        described,
		ConfigSchema: json.RawMessage(configSchema),
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
		SearchURL: c.Web.Search, OutputCap: c.OutputCap,
	}, nil
}
