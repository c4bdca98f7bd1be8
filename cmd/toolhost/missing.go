package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/project"
	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// missing tells what agent.hcl names and is not there: on this machine, or
// among the tools.
func (a *app) missing(p *project.Project, cfg *config.Config) (found config.Diagnostics) {
	warn := func(at, summary, detail, hint string) {
		found = append(found, cfg.Report("warning", at, summary, strings.ToUpper(detail[:1])+detail[1:], hint))
	}
	for i := range cfg.Tools {
		if err := noProgram(p, &cfg.Tools[i]); err != nil {
			warn(cfg.Tools[i].Pos, "Program cannot be run", err.Message, err.Suggestion)
		}
	}
	for _, problem := range p.Host.Catalog().Problems() {
		if !p.IsServer(problem.Source) {
			warn(declaredAt(cfg, problem.Source), "Plugin gives no tools", problem.Err.Message, problem.Err.Suggestion)
		}
	}
	for _, left := range p.Host.Catalog().LeftOut() {
		warn(declaredAt(cfg, left.Source), "Tool is not offered", left.Err.Message, left.Err.Suggestion)
	}
	if t := cfg.Taskfile; t != nil && t.Path != "" {
		if _, err := p.Workspace.Stat(t.Path); tool.CodeOf(err) == tool.NotFound {
			warn(t.Pos, "No Taskfile", "There is no "+t.Path, "Create it, or take the block out.")
		}
	}
	if s := cfg.Sandbox; s != nil {
		for _, path := range slices.Concat(s.Read, s.Write) {
			if _, err := os.Stat(path); err != nil {
				warn(s.Pos, "Path does not exist", path+" cannot be granted: it does not exist", "Create it, or take it out.")
			}
		}
	}
	if cfg.Policy != nil {
		for _, r := range cfg.Policy.Rules {
			if !r.Expires.IsZero() && r.Expires.Before(time.Now()) && !r.Disabled {
				warn(r.Pos, "Expired rule", "The rule ended on "+r.Expires.Format(time.RFC3339)+" and matches nothing", "Give it a new end, or remove it.")
			}
		}
	}
	found = append(found, tooLong(p, cfg)...)
	return append(found, a.missingTools(p, cfg)...)
}

// maxDescription is how much of a description clients show a model, in
// characters.
const maxDescription = 2048

// tooLong warns of what clients cut, or lose all tools for.
func tooLong(p *project.Project, cfg *config.Config) (found config.Diagnostics) {
	for _, e := range p.Host.Catalog().Entries() {
		at := placeOf(cfg, e)
		if n := len(e.Name); n > host.MaxForeignName {
			found = append(found, cfg.Report("warning", at, "Long name", "The tool "+e.Name+" has a name of "+strconv.Itoa(n)+" characters. Clients put a prefix before it, and model APIs take 64 in all",
				"Shorten it to "+strconv.Itoa(host.MaxForeignName)+"."))
		}
		if n := utf8.RuneCountInString(e.Definition().Description); n > maxDescription {
			found = append(found, cfg.Report("warning", at, "Long description", "The description of "+e.Name+" has "+strconv.Itoa(n)+" characters. Clients cut it after "+strconv.Itoa(maxDescription),
				"Shorten it; what a parameter means belongs into the parameter's description."))
		}
	}
	return found
}

// placeOf is where agent.hcl names a tool or its source.
func placeOf(cfg *config.Config, e *host.Entry) string {
	for i := range cfg.Tools {
		if cfg.Tools[i].Name == e.Tool.Definition().Name {
			return cfg.Tools[i].Pos
		}
	}
	for _, s := range cfg.Servers {
		if e.Source == "mcp "+s.Name {
			return s.Pos
		}
	}
	return declaredAt(cfg, e.Source)
}

// noProgram says why the program of a tool cannot be run.
func noProgram(p *project.Project, spec *argv.Spec) *tool.Error {
	program, list := "", ""
	switch {
	case spec.Passthrough != nil:
		program, list = spec.Passthrough.Command, "prepend"
	case spec.Command != nil && len(spec.Command.Argv) > 0:
		program, list = spec.Command.Argv[0].Literal, "argv"
	}
	if program == "" {
		return nil
	}
	_, err := proc.LookPath(program, p.Workspace.Root())
	if err == nil {
		return nil
	}
	e := tool.AsError(err)
	if strings.ContainsAny(program, " \t") {
		return tool.Errorf(tool.CommandNotFound, "there is no program of the name %q", program).
			Suggest("Name the program alone, and each argument as an item of %s: no shell takes them apart.", list)
	}
	return e
}

// missingTools tells of toolsets that name a tool which there is not. Where
// some tools are not known now, or have no effect, nothing can be said.
func (a *app) missingTools(p *project.Project, cfg *config.Config) (found config.Diagnostics) {
	catalog := p.Host.Catalog()
	if len(catalog.Problems()) > 0 || a.standing.Load().Declared != nil || a.flags.toolset != "" {
		return nil
	}
	var known []string
	for _, e := range catalog.Entries() {
		known = append(known, e.Name)
	}
	for _, set := range cfg.Toolsets {
		for i, name := range set.Tools {
			if host.Offered(name, known) {
				continue
			}
			name = host.PortableName(name)
			if _, err := catalog.Lookup(name); tool.CodeOf(err) == tool.Denied {
				continue
			}
			hint := "toolhost list shows the tools."
			if near := schema.Nearest(name, known); near != "" {
				hint = `Did you mean "` + near + `"? ` + hint
			}
			found = append(found, cfg.Report("error", set.ToolPos[i], "Unknown tool", "There is no tool "+strconv.Quote(set.Tools[i]), hint))
		}
	}
	return found
}

// declaredAt is where the plugin or the MCP server of a source is declared.
func declaredAt(cfg *config.Config, source string) string {
	for _, plugin := range cfg.Plugins {
		if source == "plugin "+plugin.Name {
			return plugin.Pos
		}
	}
	for _, server := range cfg.Servers {
		if source == "mcp "+server.Name {
			return server.Pos
		}
	}
	return filepath.Base(cfg.Path)
}
