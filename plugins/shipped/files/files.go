// Package files is the plugin of the agent toolset's file tools: read_file,
// list_files, write_file, append_file, delete_file, rg, glob and git_diff.
package files

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/undo"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

// Version is the plugin's version.
const Version = "1.0.0"

// New makes the tools for a workspace. With nil they can be described and not
// called. The programs that they run are confined as settings say.
func New(ws *workspace.Workspace, settings sandbox.Settings) []tool.Tool {
	return []tool.Tool{
		readFile(ws), listFiles(ws), writeFile(ws), appendFile(ws), deleteFile(ws),
		ripgrep(ws, settings), glob(ws), gitDiff(ws, settings),
	}
}

// config is the plugin's configuration.
type config struct {
	// Confine is how rg and git are confined.
	Confine sandbox.Settings `json:"confine"`
}

const configSchema = `{"type":"object","properties":{"confine":` + sandbox.SettingsSchema + `},"additionalProperties":false}`

// Plugin is the tools as a plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{
		Name:         "files",
		Version:      Version,
		Tools:        New(nil, sandbox.Settings{}),
		ConfigSchema: json.RawMessage(configSchema),
		Configure: func(_ context.Context, env sdk.Env) ([]tool.Tool, error) {
			var c config
			if err := env.Decode(&c); err != nil {
				return nil, err
			}
			ws, err := contract.OpenWorkspace(env.Workspace, c.Confine)
			if err != nil {
				return nil, err
			}
			c.Confine.Write = slices.Concat(env.Workspace.Allow, c.Confine.Write)
			return New(ws, c.Confine), nil
		},
	}
}

// fileTool is a tool that works in a workspace.
type fileTool struct {
	workspace  *workspace.Workspace
	definition *tool.Definition
	run        func(context.Context, *workspace.Workspace, *tool.Call) (*tool.Result, error)
}

// Definition implements tool.Tool.
func (t *fileTool) Definition() *tool.Definition { return t.definition }

// Call implements tool.Tool.
func (t *fileTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	if t.workspace == nil {
		return nil, contract.NoWorkspace(call.Tool)
	}
	ctx, ws := undo.ForCall(ctx, t.workspace, call)
	return t.run(ctx, ws, call)
}

// plannedTool is a file tool that can say what it would change.
type plannedTool struct {
	*fileTool
	plan func(context.Context, *workspace.Workspace, *tool.Call) (*tool.Plan, error)
}

// Plan implements tool.Planner.
func (t *plannedTool) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	if t.workspace == nil {
		return nil, contract.NoWorkspace(call.Tool)
	}
	return t.plan(ctx, t.workspace, call)
}

func example(description, params string) tool.Example {
	return tool.Example{Description: description, Params: json.RawMessage(params)}
}
