package project

import (
	"context"
	"path/filepath"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// BrokenTool replaces all tools while agent.hcl has mistakes: what the file would restrict is unknown.
const BrokenTool = "agent_hcl_mistakes"

func (p *Project) brokenAssembly(cfg *config.Config) (made *assembly, err error) {
	made = &assembly{toolset: host.Toolset{Name: "broken"}, sources: []host.Source{&broken{p, filepath.Base(cfg.Path)}}}
	if made.workspace, err = p.workspaceFor(made, cfg); err != nil {
		return nil, err
	}
	made.manager, err = p.newManager(cfg, made.protect)
	return made, err
}

// broken is the tool BrokenTool and its source.
type broken struct {
	project *Project
	file    string
}

func (b *broken) Name() string { return "builtin" }

func (b *broken) Tools(context.Context) ([]tool.Tool, error) { return []tool.Tool{b}, nil }

// Definition implements tool.Tool.
func (b *broken) Definition() *tool.Definition {
	return &tool.Definition{
		Name:  BrokenTool,
		Title: b.file + " has mistakes",
		Description: "This project's " + b.file +
			" has mistakes, so that none of its tools is offered now. Tell the user. " +
			"The tools come back by themselves once the file is corrected. Returns: every mistake with its line and what to do.",
		Risk: tool.ReadOnly, Permissions: []tool.Permission{tool.FileRead}, Idempotent: true,
	}
}

// Call reports the file's present mistakes.
func (b *broken) Call(context.Context, *tool.Call) (*tool.Result, error) {
	if _, err := b.project.options.Reread(); err != nil {
		return tool.Text(err.Error()), nil
	}
	return tool.Textf("%s has no mistakes any more. List the tools again.", b.file), nil
}
