package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/project"
	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/tool"
)

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeFlag has the shell offer the values that a flag knows.
func completeFlag(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, noFiles)); err != nil {
		panic(err) // there is no such flag
	}
}

// openQuietly opens the project for the shell, which shows no complaints.
func (a *app) openQuietly(c *cobra.Command) (*project.Project, bool) {
	if a.setUp() != nil {
		return nil, false
	}
	a.err, a.logger = io.Discard, slog.New(slog.DiscardHandler)
	p, err := a.open(c.Context())
	return p, err == nil
}

// completeTool completes the name of a tool.
func (a *app) completeTool(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	p, ok := a.openQuietly(c)
	if !ok {
		return nil, noFiles
	}
	defer p.Close()
	var names []string
	for _, e := range p.Host.Catalog().Entries() {
		names = append(names, e.Name+"\t"+summary(e.Definition().Description))
	}
	return names, noFiles
}

// completeCall completes the name of a tool, and then those of its parameters
// that are not given yet. The value of one is left to the shell, which knows
// files.
func (a *app) completeCall(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeTool(c, args, word)
	}
	if strings.Contains(word, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	p, ok := a.openQuietly(c)
	if !ok {
		return nil, noFiles
	}
	defer p.Close()
	p.LoadFor(c.Context(), args[0])
	entry, err := p.Host.Catalog().Lookup(args[0])
	if err != nil {
		return nil, noFiles
	}
	return missingPairs(entry.Definition(), args[1:]), noFiles | cobra.ShellCompDirectiveNoSpace
}

// missingPairs are the beginnings of key=value pairs that are not among those
// given.
func missingPairs(def *tool.Definition, given []string) []string {
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(def.Parameters, &schema)
	var pairs []string
	for _, name := range sortedNames(schema.Properties) {
		if !slices.ContainsFunc(given, func(pair string) bool { return strings.HasPrefix(pair, name+"=") || strings.HasPrefix(pair, name+":=") }) {
			pairs = append(pairs, name+"=\t"+summary(schema.Properties[name].Description))
		}
	}
	return pairs
}

// completeDeclared completes what agent.hcl declares.
func (a *app) completeDeclared(names func(*config.Config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		path, err := a.configPath()
		vars, varsErr := a.variables()
		if err != nil || varsErr != nil {
			return nil, noFiles
		}
		cfg := new(config.Config)
		if path != "" {
			cfg, _ = config.Load(path, config.LoadOptions{Vars: vars})
		}
		left := slices.DeleteFunc(names(cfg), func(name string) bool { return slices.Contains(args, name) })
		return left, noFiles
	}
}

func pluginNames(cfg *config.Config) (names []string) {
	for _, p := range cfg.Plugins {
		names = append(names, p.Name)
	}
	return names
}

// loginNames are the servers that one can log in to.
func loginNames(cfg *config.Config) (names []string) {
	for _, s := range cfg.Servers {
		if s.URL != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

func (a *app) completeToolset(c *cobra.Command) {
	if err := c.RegisterFlagCompletionFunc("toolset", a.completeDeclared(project.ToolsetNames)); err != nil {
		panic(err) // there is no such flag
	}
}

// completeRule completes the name of a remembered rule.
func (a *app) completeRule(c *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 || a.setUp() != nil {
		return nil, noFiles
	}
	_ = a.withRules(c, func(r *policy.Remembered) error {
		rules, err := r.List()
		for _, rule := range rules {
			names = append(names, rule.Name)
		}
		return err
	})
	return names, noFiles
}
