package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Grants summarizes what an approval lets the file run, reach, read and write: a line for each block, without
// secrets.
func (c *Config) Grants() (lines []string) {
	secret := redact.New(c.Secrets)
	add := func(pos, block string, parts ...string) {
		line := strings.Join(append([]string{block}, parts...), ", ")
		lines = append(lines, secret.String(fmt.Sprintf("%s: %s", pos, line)))
	}
	if s := c.Sandbox; s != nil {
		add(s.Pos, "sandbox at level "+s.Level, granted(Access{Network: s.Network, Hosts: s.Hosts, Read: s.Read, Write: s.Write})...)
	}
	for _, dir := range c.Workspace.Allow {
		add(c.Workspace.Pos, "tools may also use "+word(dir), opened("writing", dir, true)...)
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		add(t.Pos, named("tool", t.Name)+" runs "+ran(t.Passthrough, t.Command),
			append(granted(t.Access), c.withheld(t.Access, literalEnv(t.Command))...)...)
	}
	for i := range c.Resources {
		if r := &c.Resources[i]; r.Command != nil {
			add(r.Pos, named("resource", r.Name)+" runs "+ran(nil, r.Command),
				append(granted(r.Access), c.withheld(r.Access, literalEnv(r.Command))...)...)
		}
	}
	for _, p := range c.Plugins {
		add(p.Pos, named("plugin", p.Name)+" runs "+wordList(append([]string{p.Source}, p.Args...)),
			append(granted(p.Access), c.withheld(p.Access, p.Env)...)...)
	}
	for _, s := range c.Servers {
		if s.URL != "" {
			add(s.Pos, named("mcp server", s.Name)+" is reached at "+word(s.URL))
			continue
		}
		add(s.Pos, named("mcp server", s.Name)+" runs "+wordList(s.Command), append(granted(s.Access), c.withheld(s.Access, s.Env)...)...)
	}
	for _, a := range c.Agents {
		add(a.Pos, named("agent", a.Role)+" runs "+wordList(a.Command), append(granted(a.Access), c.withheld(a.Access, a.Env)...)...)
	}
	if t := c.Taskfile; t != nil {
		add(t.Pos, "taskfile runs tasks", granted(t.Access)...)
	}
	if m := c.Model; m != nil {
		add(m.Pos, named("model", m.Name)+" is reached at "+word(m.URL))
	}
	for _, k := range c.Credentials {
		add(k.Pos, fmt.Sprintf("%s is sent to %s:%d in the header %s, by blocks whose network names this host",
			named("credential", k.Name), k.Host, k.Port, k.Header))
	}
	if p := c.Policy; p != nil {
		for _, r := range p.Rules {
			if !r.Disabled && (r.Action == Allow || r.Action == Review) {
				add(r.Pos, fmt.Sprintf("policy: rule %s has action %s", word(r.Name), r.Action))
			}
		}
	}
	if len(c.EnvNames) > 0 {
		lines = append(lines, "reads of the environment: "+wordList(c.EnvNames))
	}
	return lines
}

func granted(a Access) (parts []string) {
	if a.Network {
		parts = append(parts, "with network")
	}
	if len(a.Hosts) > 0 {
		parts = append(parts, "reaching "+hostList(a.Hosts))
	}
	if len(a.Read) > 0 {
		parts = append(parts, "reading "+wordList(a.Read))
	}
	if len(a.Write) > 0 {
		parts = append(parts, "writing "+wordList(a.Write))
	}
	for _, path := range a.Read {
		parts = append(parts, opened("reading", path, false)...)
	}
	for _, path := range a.Write {
		parts = append(parts, opened("writing", path, true)...)
	}
	return parts
}

// opened warns of a grant that opens more than its path.
func opened(doing, path string, write bool) []string {
	if said := obeyed.Opens(path, write); said != "" {
		return []string{"WARNING: " + doing + " " + word(path) + " opens more: " + said}
	}
	return nil
}

// hostList returns a list of hosts as text.
func hostList(hosts []string) string {
	named := slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == network.AskEntry })
	switch {
	case len(named) == len(hosts):
		return wordList(hosts)
	case len(named) == 0:
		return "the hosts that you allow when asked"
	}
	return wordList(named) + ", and what you allow when asked"
}

// ran returns the command of a block, with {NAME} for what a caller gives.
func ran(wrapper *argv.Wrapper, command *argv.Template) string {
	if wrapper != nil {
		return wordList(append([]string{wrapper.Command}, wrapper.Prepend...)) + " ARGS"
	}
	if command == nil { // a mistake
		return ""
	}
	var all []string
	for i := range command.Argv {
		all = append(all, exprText(&command.Argv[i]))
	}
	return wordList(all)
}

func exprText(e *argv.Expr) string {
	switch {
	case e.Param != "":
		return "{" + e.Param + "}"
	case e.All:
		return "{...}"
	case e.When != nil:
		return exprText(&e.When.Then) + "|" + exprText(&e.When.Else)
	}
	text := e.Literal
	for i := range e.Concat {
		text += exprText(&e.Concat[i])
	}
	return text
}

func named(kind, name string) string {
	if name == "" {
		return kind
	}
	return kind + " " + show.Line(strconv.Quote(name))
}

func wordList(all []string) string {
	shown := make([]string, len(all))
	for i, s := range all {
		shown[i] = word(s)
	}
	return strings.Join(shown, " ")
}

// word quotes a text unless it is one visible word.
func word(s string) string {
	plain := s != "" && s == show.Line(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"'`+"`\\", r)
	})
	if plain {
		return s
	}
	return show.Line(strconv.Quote(s))
}
