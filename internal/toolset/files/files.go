// Package files is the plugin of the agent toolset's file tools: read_file,
// list_files, write_file, append_file, delete_file, rg, glob and git_diff.
package files

import (
	"context"
	"embed"
	"os/exec"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Version is the plugin's version.
const Version = "1.0.0"

type deps struct {
	workspace *workspace.Workspace
	// settings confine the programs that the tools run. Programs that only look may only read.
	settings sandbox.Settings
	reading  func(*exec.Cmd) error
}

// New returns the tools for a workspace. With nil they can only be described. settings confine
// their programs.
func New(ws *workspace.Workspace, settings sandbox.Settings) []tool.Tool {
	c, d := speech(), deps{workspace: ws, settings: settings}
	if ws != nil {
		d.reading = settings.ConfineReading(ws.Root())
	}
	return []tool.Tool{
		kit.Tool(c, d, "read_file", runRead, nil), kit.Tool(c, d, "list_files", runList, nil),
		kit.Tool(c, d, "write_file", runWrite, planWrite), kit.Tool(c, d, "append_file", runAppend, planAppend),
		kit.Tool(c, d, "delete_file", runDelete, planDelete), kit.Tool(c, d, "rg", runRipgrep, nil),
		kit.Tool(c, d, "glob", runGlob, nil), kit.Tool(c, d, "git_diff", runGitDiff, nil),
	}
}

//go:embed tools
var definitionFiles embed.FS

var definitions = sync.OnceValue(func() map[string]*tool.Definition { return toolspec.Read(definitionFiles, nil) })

// speech returns the host's contract: a call returns a result, and the host renders errors.
func speech() *kit.Contract[deps, *tool.Result] {
	return &kit.Contract[deps, *tool.Result]{
		Definitions: definitions(),
		Workspace:   func(d *deps) **workspace.Workspace { return &d.workspace },
		Success:     func(_ kit.Call, r *tool.Result) *tool.Result { return r },
	}
}

type config struct {
	// Confine is how rg and git are confined.
	Confine sandbox.Settings `json:"confine"`
}

const configSchema = `{"type":"object","properties":{"confine":"$confine"},"additionalProperties":false}`

// Plugin returns the tools as a plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{
		Name:         "files",
		Version:      Version,
		Tools:        New(nil, sandbox.Settings{}),
		ConfigSchema: toolspec.Fill([]byte(configSchema), `"$confine"`, sandbox.SettingsSchema),
		Configure: func(_ context.Context, env sdk.Env) ([]tool.Tool, error) {
			var c config
			if err := env.Decode(&c); err != nil {
				return nil, err
			}
			ws, err := kit.OpenWorkspace(env.Workspace, c.Confine)
			if err != nil {
				return nil, err
			}
			c.Confine.Write = slices.Concat(env.Workspace.Allow, c.Confine.Write)
			return New(ws, c.Confine), nil
		},
	}
}
