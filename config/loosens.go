package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/argv"
)

// Loosens lists, for people, what in the file runs code or loosens a defence:
// what a user should know before trusting it. It is empty for a file that does
// neither. Secrets are left out.
func (c *Config) Loosens() []string {
	var all []string
	add := func(at, format string, args ...any) {
		line := redact(fmt.Sprintf(format, args...), c.Secrets)
		if at != "" {
			line = at + ": " + line
		}
		all = append(all, line)
	}
	if c.Instructions != "" {
		add("", "clients' models are told: %s", c.Instructions)
	}
	c.loosenedWorkspace(add)
	for i := range c.Tools {
		t := &c.Tools[i]
		add(t.Pos, "tool %q runs %s%s", t.Name, commandLine(t), granted(t.Access))
	}
	c.loosenedOffers(add)
	for _, p := range c.Plugins {
		add(p.Pos, "plugin %q runs %s%s", p.Name, p.Source, granted(p.Access))
	}
	for _, s := range c.Servers {
		if s.URL != "" {
			add(s.Pos, "mcp server %q is reached at %s%s", s.Name, s.URL, s.OAuth.shown())
			continue
		}
		add(s.Pos, "mcp server %q runs %s%s", s.Name, strings.Join(s.Command, " "), granted(s.Access))
	}
	c.loosenedAgents(add)
	if c.Taskfile != nil {
		add(c.Taskfile.Pos, "tasks of %s can be run%s", c.Taskfile.Path, granted(c.Taskfile.Access))
	}
	if c.Model != nil {
		add(c.Model.Pos, "tools may ask the model %s: what they ask is sent to %s", c.Model.Name, c.Model.URL)
	}
	c.loosenedRules(add)
	if len(c.EnvNames) > 0 {
		add("", "environment variables are read: %s", strings.Join(slices.Sorted(slices.Values(c.EnvNames)), ", "))
	}
	return all
}

func (c *Config) loosenedOffers(add func(at, format string, args ...any)) {
	for i := range c.Resources {
		switch r := &c.Resources[i]; {
		case r.Command != nil:
			add(r.Pos, "resource %q runs %s%s", r.Name, commandLine(&argv.Spec{Command: r.Command}), granted(r.Access))
		case r.Content.File != nil:
			add(r.Pos, "resource %q shows clients %s", r.Name, show(r.Content.File))
		default:
			add(r.Pos, "resource %q is shown to clients", r.Name)
		}
	}
	for i := range c.Prompts {
		add(c.Prompts[i].Pos, "prompt %q is offered to users", c.Prompts[i].Name)
	}
}

func (c *Config) loosenedWorkspace(add func(at, format string, args ...any)) {
	w := c.Workspace
	if w.Root != "" && !within(w.Root, c.Dir) {
		add(w.Pos, "the workspace is %s", w.Root)
	}
	for _, dir := range w.Allow {
		add(w.Pos, "tools may use %s too", dir)
	}
	for _, address := range c.Web.Allow {
		add(c.Web.Pos, "the web tools may reach %s", address)
	}
	if c.Web.Search != "" {
		add(c.Web.Pos, "web searches are sent to %s", c.Web.Search)
	}
	if c.Limits.Pos != "" {
		add(c.Limits.Pos, "limits are set")
	}
	if s := c.Sandbox; s != nil {
		if s.Level != "auto" && s.Level != "full" {
			add(s.Pos, "the sandbox level is %s", s.Level)
		}
		if grant := granted(Access{Network: s.Network, Read: s.Read, Write: s.Write}); grant != "" {
			add(s.Pos, "child processes are granted something%s", grant)
		}
	}
}

func (c *Config) loosenedRules(add func(at, format string, args ...any)) {
	if c.Policy == nil {
		return
	}
	for _, risk := range slices.Sorted(maps.Keys(c.Policy.Risks)) {
		if c.Policy.Risks[risk] != Deny {
			add(c.Policy.Pos, "tools of risk %s: %s", risk, c.Policy.Risks[risk])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(c.Policy.Permissions)) {
		if c.Policy.Permissions[p] != Deny {
			add(c.Policy.Pos, "tools with permission %s: %s", p, c.Policy.Permissions[p])
		}
	}
	for _, rule := range c.Policy.Rules {
		if !rule.Disabled && rule.Action != Deny {
			add(rule.Pos, "rule %q: %s", rule.Name, rule.Action)
		}
	}
}

// commandLine shows what a tool runs.
func commandLine(s *argv.Spec) string {
	switch {
	case s.Passthrough != nil:
		return strings.Join(append([]string{s.Passthrough.Command}, s.Passthrough.Prepend...), " ") + " ARGS"
	case s.Command != nil:
		words := make([]string, len(s.Command.Argv))
		for i := range s.Command.Argv {
			words[i] = show(&s.Command.Argv[i])
		}
		return strings.Join(words, " ")
	}
	return "nothing"
}

// show writes an expression for people.
func show(e *argv.Expr) string {
	switch {
	case e.Param != "":
		return "{" + e.Param + "}"
	case e.When != nil:
		return "{" + e.When.Param + "?" + show(&e.When.Then) + ":" + show(&e.When.Else) + "}"
	case e.All:
		return "{all parameters}"
	case e.Concat == nil:
		return e.Literal
	}
	var b strings.Builder
	for i := range e.Concat {
		b.WriteString(show(&e.Concat[i]))
	}
	return b.String()
}

// granted says what an access grants, "" for nothing.
func granted(a Access) string {
	var parts []string
	if a.Network {
		parts = append(parts, "network")
	}
	if len(a.Read) > 0 {
		parts = append(parts, "reading "+strings.Join(a.Read, ", "))
	}
	if len(a.Write) > 0 {
		parts = append(parts, "writing "+strings.Join(a.Write, ", "))
	}
	if parts == nil {
		return ""
	}
	return ", with " + strings.Join(parts, ", ")
}

// within reports whether path is dir or lies below it, by its name.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
