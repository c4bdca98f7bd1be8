package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// fileStatus is the state of a server's agent.hcl for clients, which do not show the log.
type fileStatus struct {
	mu      sync.Mutex
	file    *agentfile.Standing // as last found
	refused string              // why a change was not applied, or ""
	broken  bool                // and nothing was in force before
}

func (s *fileStatus) found(file *agentfile.Standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file, s.refused, s.broken = file, "", false
}

// refuse notes why a change was not applied.
func (s *fileStatus) refuse(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = why
}

// say returns the status for a model to pass on to its user.
func (s *fileStatus) say(file string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken:
		return fmt.Sprintf("%s has mistakes (%s), so that no tool is offered but %s, which tells them. Tell the "+
			"user; the tools come back once the file is corrected.",
			file, s.refused, BrokenTool)
	case s.refused != "":
		return fmt.Sprintf("%s was changed and what it says now is not used: %s. What was in force before goes on; "+
			"toolhost validate tells more.", file, s.refused)
	}
	if text := s.file.ForModels(); text != "" {
		return text
	}
	if file == "" {
		return "There is no agent.hcl, so these are the standard tools."
	}
	return file + " is approved and in force."
}

// instructions returns the text that a server gives its clients about the project ("instructions" in MCP), computed
// for each client.
func instructions(p *Project, s *fileStatus) func(context.Context) string {
	return func(context.Context) string {
		cfg, catalog := p.Config(), p.Host.Catalog()
		root := p.Workspace.Root()
		lines := []string{fmt.Sprintf("toolhost offers tools for the project %.60q: they read, search, edit and "+
			"run things in %.200q%s.", filepath.Base(root), root, undone(p))}
		if !catalog.Toolset().Envelope {
			lines = append(lines, named("This project's own tools", toolsOfProject(p, cfg)),
				taskCommands(p))
		}
		file := ""
		if cfg.Path != "" {
			file = filepath.Base(cfg.Path)
		}
		lines = append(lines, sandbox.Weaker(chosenLevel(cfg)), s.say(file), cfg.Instructions)
		lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
		return strings.Join(lines, "\n")
	}
}

// undone says whether the user can undo calls' changes.
func undone(p *Project) string {
	if p.Undo.Kept() != nil {
		return ", and what they do to files cannot be taken back here"
	}
	return ", and the user can take back what they did to files (toolhost undo)"
}

// toolsOfProject returns the offered names of tools from agent.hcl.
func toolsOfProject(p *Project, cfg *config.Config) (names []string) {
	for _, e := range p.Host.Catalog().Entries() {
		declared := slices.ContainsFunc(cfg.Tools, func(t argv.Spec) bool { return t.Name == e.Tool.Definition().Name })
		foreign := (strings.HasPrefix(e.Source, "plugin ") && e.Source != "plugin files") ||
			strings.HasPrefix(e.Source, "mcp ")
		if declared || foreign {
			names = append(names, e.Name)
		}
	}
	return names
}

// plainName matches names that cannot instruct a model: a Taskfile's names are not approved.
var plainName = regexlimit.Lazy(`^[A-Za-z0-9_.:/-]{1,48}$`)

// taskCommands lists the Taskfile's commands, if known without a process that reads it.
func taskCommands(p *Project) string {
	names, known := p.Commands()
	if !known {
		return "list_commands tells the commands of its Taskfile, for run_command."
	}
	return named("Commands of its Taskfile, for run_command",
		slices.DeleteFunc(names, func(name string) bool { return !plainName().MatchString(name) }))
}

// mostNames bounds the listed names of a kind.
const mostNames = 12

// named lists names under a heading, or returns "".
func named(heading string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	shown, more := names, ""
	if len(names) > mostNames {
		shown, more = names[:mostNames], fmt.Sprintf(" and %d more", len(names)-mostNames)
	}
	return fmt.Sprintf("%s (%d): %s%s.", heading, len(names), strings.Join(shown, ", "), more)
}

// mostMistakes bounds the listed mistakes of a file.
const mostMistakes = 3

// Summarize returns place and kind of a file's first mistakes, without text of the file that could
// instruct a model.
func Summarize(err error) string {
	wrong, ok := errors.AsType[*MistakesError](err)
	if !ok {
		return tool.AsError(err).Message
	}
	var all []string
	for _, m := range wrong.Found {
		if m.Severity == "error" {
			all = append(all, fmt.Sprintf("line %d: %s", m.Line, m.Summary))
		}
	}
	if more := len(all) - mostMistakes; more > 0 {
		all = append(all[:mostMistakes], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}
