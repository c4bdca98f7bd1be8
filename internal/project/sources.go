package project

import (
	"fmt"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/store/sources"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// mostSaid bounds a kept line of a source's output.
const mostSaid = 2000

// keepLine keeps a line of a plugin or MCP server for the user.
func (p *Project) keepLine(kind sources.Kind, name, line string) {
	line = show.SanitizeLine(p.Recorder.Redactor().String(line), mostSaid)
	if err := p.sources.Said(kind, name, line); err != nil {
		p.options.Logger.Debug("what a source said is not kept", "source", name, "error", err)
	}
}

// sourceSince returns when an MCP server's restart was last requested, or "".
func (p *Project) sourceSince(name string) string {
	if at := p.sources.Since(sources.Server, name); !at.IsZero() {
		return at.Format(time.RFC3339Nano)
	}
	return ""
}

// RestartSource restarts a plugin or MCP server in all sessions of this workspace, running or resting
// after failures.
func (p *Project) RestartSource(kind sources.Kind, name string) error {
	var names []string
	cfg, what := p.Config(), "plugin"
	switch kind {
	case sources.Plugin:
		for _, c := range cfg.Plugins {
			names = append(names, c.Name)
		}
	case sources.Server:
		what = "MCP server"
		for _, c := range cfg.Servers {
			names = append(names, c.Name)
		}
	}
	if !slices.Contains(names, name) {
		return tool.Errorf(tool.NotFound, "this project has no %s %q", what, name).
			Suggest("%s", nearest.Hint(name, names, fmt.Sprintf("Name one that toolhost %s list shows.", kind)))
	}
	if p.sources.State == "" {
		return tool.Errorf(tool.Unavailable, "running sessions cannot be told: this workspace has no state").
			Suggest("toolhost doctor says why.")
	}
	if err := p.sources.Restart(kind, name); err != nil {
		return tool.Errorf(tool.Unavailable, "the %s cannot be restarted: %w", what, err).
			Suggest("Make %s writable for this user.", show.Word(p.sources.State))
	}
	return nil
}
