package ocode

import (
	"context"
	"net/url"
	"os/exec"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Version is the plugin's version.
const Version = "1.0.0"

// Config is the plugin's configuration.
type Config struct {
	// Permissions is Deps.Granted.
	Permissions *[]string `json:"permissions,omitempty" jsonschema:"The permissions that are granted; all when left out."`
	// OutputCap is Deps.OutputCap.
	OutputCap int `json:"output_cap,omitempty" jsonschema:"How many bytes of each output stream of a command are shown."`
	// Confine is how commands are confined.
	Confine sandbox.Settings `json:"confine,omitzero" jsonschema:"How commands are confined; the host fills it in."`
	// Agents are Deps.Agents.
	Agents subagent.Agents `json:"agents,omitempty" jsonschema:"The programs that work on delegated tasks; the host fills it in."`
	// Servers are the MCP servers, Secrets what no error about them may show.
	Servers []mcpclient.Spec `json:"servers,omitempty" jsonschema:"The MCP servers that the tool mcp knows; the host fills it in."`
	Secrets []string         `json:"secrets,omitempty" jsonschema:"Values that no error shows; the host fills it in."`
	// CacheDir is that of mcpclient.Options.
	CacheDir string `json:"cache_dir,omitempty" jsonschema:"Where the listings of MCP servers are kept; the host fills it in."`
	// Pins is where the servers' tool descriptions are remembered.
	Pins *pins.Place `json:"pins,omitempty" jsonschema:"Where what the tools of MCP servers said is remembered; the host fills it in."`
	// LoginDir is where logins to the servers are kept, empty for nowhere.
	LoginDir string `json:"login_dir,omitempty" jsonschema:"Where the logins to MCP servers are kept; the host fills it in."`
}

// Plugin returns the tools as a plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{
		Name:         "ocode",
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
	servers, err := config.connect(env, ws.Root())
	if err != nil {
		return nil, err
	}
	return New(Deps{
		Servers:   servers,
		Workspace: ws, OutputCap: config.OutputCap, Granted: config.granted(),
		Prepare:        config.Confine.ConfineTelling(ws.Root(), env.Workspace.Allow...),
		Denied:         config.Confine.Denied(ws.Root(), env.Workspace.Allow...),
		PrepareReading: config.Confine.ConfineReading(ws.Root(), env.Workspace.Allow...),
		PrepareGit: func(top string) func(*exec.Cmd) error {
			return kit.ConfineGit(config.Confine, ws.Root(),
				top)
		},
		Trees:  env.Workspace.Allow,
		Agents: config.Agents,
		Place:  subagent.Place{Root: ws.Root(), Trees: env.Workspace.Allow, Confine: config.Confine},
		Tasks:  kit.Tasks(config.Confine),
	}), nil
}

// connect prepares the MCP servers without starting them.
func (c Config) connect(env sdk.Env, root string) (*mcpclient.Client, error) {
	if len(c.Servers) == 0 {
		return nil, nil
	}
	var logins *oauth.Store
	if c.LoginDir != "" {
		var err error
		if logins, err = oauth.Open(c.LoginDir, append([]string{root}, env.Workspace.Allow...)...); err != nil {
			return nil, err
		}
	}
	var remembered *pins.Store
	if c.Pins != nil {
		remembered = pins.Open(*c.Pins)
	}
	client := mcpclient.New(mcpclient.Options{
		Logins: logins, Pins: remembered, Version: env.HostVersion, Dir: root, CacheDir: c.CacheDir, Patience: -1,
		Sampling: true, Secrets: c.Secrets,
		Prepare: func(cmd *exec.Cmd, spec mcpclient.Spec) error {
			settings := c.granting(spec).WithCache(root, "mcp-"+url.PathEscape(spec.Name))
			return settings.Confine(root, env.Workspace.Allow...)(cmd)
		},
	})
	for _, spec := range c.Servers {
		if err := client.Add(spec); err != nil {
			return nil, err
		}
	}
	return client, nil
}

func (c Config) granting(spec mcpclient.Spec) sandbox.Settings {
	s := c.Confine
	s.Network, s.Hosts = spec.Network, spec.Hosts
	s.Read = slices.Concat(s.Read, spec.Read)
	s.Write = slices.Concat(s.Write, spec.Write)
	return s
}

// granted returns nil if nothing was configured.
func (c Config) granted() []tool.Permission {
	if c.Permissions == nil {
		return nil
	}
	granted := make([]tool.Permission, 0, len(*c.Permissions))
	for _, p := range *c.Permissions {
		granted = append(granted, tool.Permission(p))
	}
	return granted
}
