package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/export"
	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/variables"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// checker looks for what agent.hcl names and is missing, on this machine or among the tools.
type checker struct {
	project *project.Project
	cfg     *config.Config
	inert   bool // the file is not approved: its tools are not offered
	toolset string
	strict  bool
	found   config.Diagnostics
}

// check makes all checks beyond reading the file.
func (c *checker) check(ctx context.Context) config.Diagnostics {
	c.programs()
	c.serverPrograms()
	c.grants()
	c.files()
	c.plugins()
	c.taskfile(ctx)
	if c.cfg.Policy != nil {
		for _, r := range c.cfg.Policy.Rules {
			if !r.Expires.IsZero() && r.Expires.Before(time.Now()) && !r.Disabled {
				c.warn(c.cfg.At("policy.rule "+r.Name+".expires", r.Pos), "Expired rule",
					"The rule ended on "+r.Expires.Format(time.RFC3339)+" and matches nothing",
					"Give it a new end, or remove it.")
			}
		}
	}
	c.credentials()
	c.tooLong()
	c.refused()
	c.names()
	return c.found
}

func (c *checker) warn(at, summary, detail, hint string) {
	c.found = append(c.found, c.cfg.Report("warning", at, summary, strings.ToUpper(detail[:1])+detail[1:], hint))
}

// programs checks the programs of all blocks but MCP servers'.
func (c *checker) programs() {
	root := c.project.Workspace.Root()
	for i := range c.cfg.Tools {
		t := &c.cfg.Tools[i]
		if t.Passthrough != nil {
			c.program(c.cfg.At("tool."+t.Name+".passthrough.command", t.Pos), t.Passthrough.Command, root, "prepend")
		} else {
			c.argv("tool."+t.Name, t.Pos, t.Command)
		}
	}
	for _, r := range c.cfg.Resources {
		c.argv("resource."+r.Name, r.Pos, r.Command)
	}
	for _, a := range c.cfg.Agents {
		if len(a.Command) > 0 {
			c.program(c.cfg.At("agent."+cmp.Or(a.Role, "default")+".command[0]", a.Pos), a.Command[0], root, "command")
		}
	}
}

func (c *checker) serverPrograms() {
	for _, s := range c.cfg.Servers {
		if len(s.Command) > 0 {
			c.program(c.cfg.At("mcp."+s.Name+".command[0]", s.Pos), s.Command[0], "", "command")
		}
	}
}

func (c *checker) argv(block, fallback string, t *argv.Template) {
	if t != nil && len(t.Argv) > 0 {
		c.program(c.cfg.At(block+".command.argv[0]", fallback), t.Argv[0].Literal, c.project.Workspace.Root(), "argv")
	}
}

// program warns if a program cannot be run. list is the attribute that holds its arguments.
func (c *checker) program(at, program, avoid, list string) {
	if program == "" {
		return
	}
	_, err := proc.LookPath(program, avoid)
	if err == nil {
		return
	}
	e := tool.AsError(err)
	if words := strings.Fields(program); len(words) > 1 && !strings.Contains(words[0], "/") {
		e = tool.Errorf(tool.CommandNotFound, "there is no program of the name %q", program).
			Suggest("Name only the program, and each argument as an item of %s: no shell splits them.", list)
	}
	c.warn(at, "Program cannot be run", e.Message, e.Suggestion)
}

// grants checks the paths that blocks grant their processes, and the directories that tools may use.
func (c *checker) grants() {
	c.cfg.Withheld(func(kind, name, pos, said string) {
		c.warn(c.cfg.At(kind+"."+cmp.Or(name, "default")+".env", pos), "Variable is dropped", said,
			variables.AgentSocket+" is passed on if write names the socket itself; remove the others.")
	})
	for i, dir := range c.cfg.Workspace.Allow {
		c.opened(c.cfg.At(fmt.Sprintf("workspace.allow[%d]", i), c.cfg.Workspace.Pos), "write", dir)
	}
	if s := c.cfg.Sandbox; s != nil {
		c.granted("sandbox", s.Pos, config.Access{Network: s.Network, Read: s.Read, Write: s.Write})
	}
	if t := c.cfg.Taskfile; t != nil {
		c.granted("taskfile", t.Pos, t.Access)
	}
	for i := range c.cfg.Tools {
		c.granted("tool."+c.cfg.Tools[i].Name, c.cfg.Tools[i].Pos, c.cfg.Tools[i].Access)
	}
	for i := range c.cfg.Resources {
		c.granted("resource."+c.cfg.Resources[i].Name, c.cfg.Resources[i].Pos, c.cfg.Resources[i].Access)
	}
	for i := range c.cfg.Plugins {
		p := &c.cfg.Plugins[i]
		c.granted("plugin."+p.Name, p.Pos, p.Access)
	}
	for i := range c.cfg.Servers {
		s := &c.cfg.Servers[i]
		c.granted("mcp."+s.Name, s.Pos, s.Access)
	}
	for _, a := range c.cfg.Agents {
		block := "agent." + cmp.Or(a.Role, "default")
		c.granted(block, a.Pos, a.Access)
	}
}

// credentials reports credentials that no block's processes get.
func (c *checker) credentials() {
	for _, k := range c.cfg.Credentials {
		named := slices.ContainsFunc(c.cfg.Reaches(), func(r config.Reach) bool {
			return network.Names(r.Hosts, k.Host, k.Port)
		})
		if !named && k.Host != "" {
			c.warn(c.cfg.At("credential."+k.Name+".host", k.Pos), "Unused credential",
				fmt.Sprintf("no block names %s at port %d in its network", k.Host, k.Port),
				"Name the host in the block whose processes are to use the credential.")
		}
	}
}

func (c *checker) granted(block, pos string, access config.Access) {
	if at := c.cfg.At(block+".network", ""); c.strict && access.Network && at != "" {
		c.warn(at, "Every host is reached", `its network, "allow", is every host and all ports of this machine`,
			`Name the hosts: network = ["HOST"]. On a terminal, toolhost call TOOL --learn prints those that a tool needs.`)
	}
	for attribute, paths := range map[string][]string{"read": access.Read, "write": access.Write} {
		for i, path := range paths {
			if _, err := os.Stat(path); err != nil {
				at := c.cfg.At(fmt.Sprintf("%s.%s[%d]", block, attribute, i), pos)
				c.warn(at, "Path does not exist", path+" cannot be granted: it does not exist",
					"Create it, or take it out.")
			}
			c.opened(c.cfg.At(fmt.Sprintf("%s.%s[%d]", block, attribute, i), pos), attribute, path)
		}
	}
}

func (c *checker) opened(at, doing, path string) {
	if said := obeyed.Opens(path, doing == "write"); said != "" {
		c.warn(at, "Grant opens the sandbox", fmt.Sprintf("to %s %s opens more than its files: %s", doing, path, said),
			"Name the files or directories that the program needs.")
	}
}

// files checks the files that resources and prompts show.
func (c *checker) files() {
	for _, r := range c.cfg.Resources {
		c.file(c.cfg.At("resource."+r.Name+".file", r.Pos), &r.Content)
	}
	for _, prompt := range c.cfg.Prompts {
		for i := range prompt.Messages {
			c.file(prompt.Messages[i].Pos, &prompt.Messages[i].Content)
		}
	}
}

func (c *checker) file(at string, content *argv.Content) {
	if content.File == nil || len(content.File.Params()) > 0 {
		return
	}
	name := content.File.Text(nil)
	if _, err := c.project.Workspace.Stat(name); err != nil {
		e := tool.AsError(err)
		c.warn(at, "File cannot be read", "there is nothing to show: "+e.Message,
			cmp.Or(e.Suggestion, "Create it, or name another."))
	}
}

// plugins reports the plugins without tools.
func (c *checker) plugins() {
	for _, problem := range c.project.Host.Catalog().Problems() {
		if mistakes := c.project.ConfigMistakes(problem.Source); mistakes.HasErrors() {
			c.found = append(c.found, mistakes...)
		} else if !c.project.IsServer(problem.Source) {
			c.warn(c.declaredAt(problem.Source), "Plugin gives no tools", problem.Err.Message, problem.Err.Suggestion)
		}
	}
	for _, left := range c.project.Host.Catalog().LeftOut() {
		c.warn(c.declaredAt(left.Source), "Tool is not offered", left.Err.Message, left.Err.Suggestion)
	}
	for _, w := range c.project.Host.Catalog().Warnings() {
		c.warn(c.declaredAt(w.Source), "Schema in part not understood", w.Err.Message, w.Err.Suggestion)
	}
}

func (c *checker) declaredAt(source string) string {
	for _, plugin := range c.cfg.Plugins {
		if source == "plugin "+plugin.Name {
			return c.cfg.At("plugin."+plugin.Name+".source", plugin.Pos)
		}
	}
	for _, server := range c.cfg.Servers {
		if source == "mcp "+server.Name {
			return server.Pos
		}
	}
	return ""
}

func (c *checker) taskfile(ctx context.Context) {
	at := ""
	if t := c.cfg.Taskfile; t != nil {
		at = c.cfg.At("taskfile.path", t.Pos)
		if _, err := c.project.Workspace.Stat(t.Path); tool.CodeOf(err) == tool.NotFound {
			c.warn(at, "No Taskfile", "There is no "+t.Path, "Create it, or take the block out.")
			return
		}
	}
	if err := tool.AsError(c.project.CheckTasks(ctx)); err != nil {
		c.warn(at, "Taskfile cannot be used", err.Message, err.Suggestion)
	}
}

// maxDescription is how much of a description clients show a model, in characters.
const maxDescription = 2048

// tooLong warns of what clients cut, or what costs them all tools.
func (c *checker) tooLong() {
	for _, e := range c.project.Host.Catalog().Entries() {
		at := c.placeOf(e)
		if n := len(e.Name); n > host.MaxForeignName {
			c.warn(at, "Long name", "The tool "+e.Name+" has a name of "+strconv.Itoa(n)+
				" characters. Clients put a prefix before it, and model APIs take 64 in all",
				"Shorten it to "+strconv.Itoa(host.MaxForeignName)+".")
		}
		if n := utf8.RuneCountInString(e.Definition().Description); n > maxDescription {
			c.warn(at, "Long description",
				"The description of "+e.Name+" has "+strconv.Itoa(n)+" characters. Clients cut it after "+
					strconv.Itoa(maxDescription),
				"Shorten it; what a parameter means belongs into the parameter's description.")
		}
	}
}

// refused warns of parameters that a model API refuses: a client that passes them on unchanged loses
// all tools.
func (c *checker) refused() {
	own := make(map[string]bool)
	for i := range c.cfg.Tools { // also before the file is approved
		t := &c.cfg.Tools[i]
		own[t.Name] = true
		c.refusedIn(c.cfg.At("tool."+t.Name+".params_schema", t.Pos), t.Name, t.Schema())
	}
	for _, e := range c.project.Host.Catalog().Entries() {
		if def := e.Definition(); !own[e.Tool.Definition().Name] {
			c.refusedIn(c.placeOf(e), e.Name, def.Parameters)
		}
	}
}

func (c *checker) refusedIn(at, name string, parameters json.RawMessage) {
	if all := export.Refused(parameters); len(all) > 0 {
		c.warn(at, "Parameters that a model API refuses", "the parameters of "+name+" are not taken everywhere: "+
			strings.Join(all, "; "), "Say it otherwise, or in a description. toolhost schema prints what each API takes.")
	}
}

func (c *checker) placeOf(e *host.Entry) string {
	for i := range c.cfg.Tools {
		if c.cfg.Tools[i].Name == e.Tool.Definition().Name {
			return c.cfg.Tools[i].Pos
		}
	}
	return c.declaredAt(e.Source)
}

// names reports toolsets and rules that name an unknown tool. A file not in force is not checked.
func (c *checker) names() {
	if c.inert || c.toolset != "" {
		return
	}
	var known []string
	for _, e := range c.project.Host.Catalog().Entries() {
		known = append(known, e.Name)
	}
	c.toolsetNames(known)
	c.ruleNames(known)
}

// toolsetNames checks the toolset blocks, unless some tools are unknown now.
func (c *checker) toolsetNames(known []string) {
	catalog := c.project.Host.Catalog()
	if len(catalog.Problems()) > 0 {
		return
	}
	for _, set := range c.cfg.Toolsets {
		for i, name := range set.Tools {
			if host.Offered(name, known) {
				continue
			}
			name = host.PortableName(name)
			if _, err := catalog.Lookup(name); tool.CodeOf(err) == tool.Denied {
				continue
			}
			at := c.cfg.At("toolset."+set.Name+".tools["+strconv.Itoa(i)+"]", set.ToolPos[i])
			c.unknown("error", at, set.Tools[i], known)
		}
	}
}

func (c *checker) unknown(severity, at, name string, known []string) {
	hint := nearest.Hint(name, known, "toolhost list shows the tools.")
	c.found = append(c.found, c.cfg.Report(severity, at, "Unknown tool", "There is no tool "+strconv.Quote(name), hint))
}

// ruleNames checks the policy block's rules. A rule that denies or asks and matches no tool protects
// nothing, and is an error.
func (c *checker) ruleNames(known []string) {
	if c.cfg.Policy == nil {
		return
	}
	known = append(known, c.ruled()...)
	unsure := len(c.project.Host.Catalog().Problems()) > 0
	for _, rule := range c.cfg.Policy.Rules {
		matches := func(name string) bool { return policy.Wildcard(rule.Tool, name) }
		if rule.Tool == "" || rule.Disabled || slices.ContainsFunc(known, matches) {
			continue
		}
		severity := "error"
		switch {
		case unsure && nearest.Name(rule.Tool, known) == "":
			continue // maybe a tool unknown now
		case unsure || rule.Action == config.Allow:
			severity = "warning"
		}
		c.unknown(severity, c.cfg.At("policy.rule "+rule.Name+".tool", rule.Pos), rule.Tool, known)
	}
}

// ruled returns the names besides the catalog's that rules may be about: tools that a policy denies or
// other toolsets offer, resources and prompts.
func (c *checker) ruled() []string {
	names := append(c.project.Host.Catalog().Hidden(), project.ContractTools()...)
	for _, set := range c.cfg.Toolsets {
		for _, name := range set.Rename {
			names = append(names, name)
		}
	}
	for _, r := range c.cfg.Resources {
		names = append(names, "resource:"+r.Name)
	}
	for _, p := range c.cfg.Prompts {
		names = append(names, "prompt:"+p.Name)
	}
	return names
}
