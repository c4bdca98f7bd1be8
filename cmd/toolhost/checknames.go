package main

import (
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/nearest"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/project"
)

// names reports toolsets and rules that name a tool which there is not. Of a
// file that has no effect nothing can be said.
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

// toolsetNames looks at the toolset blocks. Where some tools are not known now,
// nothing can be said.
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
	hint := "toolhost list shows the tools."
	if near := nearest.Name(name, known); near != "" {
		hint = `Did you mean "` + near + `"? ` + hint
	}
	c.found = append(c.found, c.cfg.Report(severity, at, "Unknown tool", "There is no tool "+strconv.Quote(name), hint))
}

// ruleNames looks at the rules of the policy block. One that denies or asks and
// matches no tool protects nothing, and that is an error.
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
			continue // it may be a tool that is not known now
		case unsure || rule.Action == config.Allow:
			severity = "warning"
		}
		c.unknown(severity, c.cfg.At("policy.rule "+rule.Name+".tool", rule.Pos), rule.Tool, known)
	}
}

// ruled are the names beside those of the catalog that rules may be about: what
// a policy denies, what other toolsets offer, resources and prompts.
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
