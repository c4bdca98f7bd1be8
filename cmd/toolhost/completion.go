package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/undo"
)

const noFiles = cobra.ShellCompDirectiveNoFileComp

func completeFlag(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, noFiles)); err != nil {
		panic(err) // unknown flag
	}
}

// openQuietly opens the project without messages, for shell completion.
func (a *app) openQuietly(c *cobra.Command) (*project.Project, bool) {
	if a.setUp() != nil {
		return nil, false
	}
	a.err, a.logger = io.Discard, slog.New(slog.DiscardHandler)
	p, err := a.open(c.Context())
	return p, err == nil
}

func (a *app) completeTool(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	p, ok := a.openQuietly(c)
	if !ok {
		return nil, noFiles
	}
	defer p.Close()
	return catalogNames(c.Context(), p), noFiles
}

// completeCall completes a tool's name, then its missing parameters and their known values; other
// values are left to the shell, which knows files.
func (a *app) completeCall(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeTool(c, args, word)
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
	if name, typed, isValue := strings.Cut(word, "="); isValue {
		values := knownValues(c, p, entry, strings.TrimSuffix(name, ":"), typed)
		if values == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		for i := range values {
			values[i] = name + "=" + values[i]
		}
		return values, noFiles
	}
	return missingPairs(entry.Definition(), args[1:]), noFiles | cobra.ShellCompDirectiveNoSpace
}

// knownValues returns a parameter's possible values, nil if unknown.
func knownValues(c *cobra.Command, p *project.Project, entry *host.Entry, name, typed string) (values []string) {
	var schema struct {
		Properties map[string]struct {
			Type any         `json:"type"`
			Enum []plainJSON `json:"enum"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(entry.Definition().Parameters, &schema)
	param := schema.Properties[name]
	if len(param.Enum) > 0 {
		values = plainTexts(param.Enum)
	}
	if param.Type == "boolean" {
		values = []string{"false", "true"}
	}
	if values == nil {
		values, _ = p.Host.Complete(c.Context(), entry, tool.Completion{Argument: name, Typed: typed})
	}
	return values
}

func (a *app) completeSessions(c *cobra.Command) {
	a.completeFrom(c, "session", func(ctx context.Context, p *project.Project) (names []string) {
		sessions, _ := p.Recorder.Sessions(ctx)
		for _, s := range sessions {
			names = append(names, s.Name)
		}
		return names
	})
}

// completeFrom completes a flag or, if "", the arguments from the project.
func (a *app) completeFrom(c *cobra.Command, flag string, values func(context.Context, *project.Project) []string) {
	complete := func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if flag == "" && c.Args(c, append(slices.Clone(args), word)) != nil {
			return nil, noFiles // too many arguments
		}
		p, ok := a.openQuietly(c)
		if !ok {
			return nil, noFiles
		}
		defer p.Close()
		return slices.DeleteFunc(values(c.Context(), p), func(v string) bool {
			name, _, _ := strings.Cut(v, "\t")
			return slices.Contains(args, name)
		}), noFiles
	}
	if flag == "" {
		c.ValidArgsFunction = complete
	} else if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // unknown flag
	}
}

// callsToUndo returns the calls that undo can undo, last first.
func callsToUndo(ctx context.Context, p *project.Project) (names []string) {
	calls, _ := p.Undo.Calls(ctx, undo.Filter{})
	for _, call := range calls {
		if call.UndoneBy == "" && len(call.Files) > 0 {
			names = append(names, call.Call+"\t"+show.Line(cmp.Or(call.Tool, "-")+" "+change.Names(call.Files)))
		}
	}
	return names
}

func runningTasks(_ context.Context, p *project.Project) (ids []string) {
	tasks, _ := p.Tasks().List()
	for _, task := range tasks {
		if !task.Done() {
			ids = append(ids, task.ID+"\t"+show.Line(task.Title))
		}
	}
	return ids
}

func waitingCalls(ctx context.Context, p *project.Project) (ids []string) {
	store, err := p.Approvals()
	if err != nil {
		return nil
	}
	waiting, _ := store.List(ctx)
	for _, call := range waiting {
		ids = append(ids, call.ID+"\t"+show.Line(call.Tool))
	}
	return ids
}

// catalogNames returns the tools with their summaries.
func catalogNames(_ context.Context, p *project.Project) (names []string) {
	for _, e := range p.Host.Catalog().Entries() {
		names = append(names, e.Name+"\t"+summary(e.Definition().Description))
	}
	return names
}

// missingPairs returns the key=value prefixes of parameters not given yet.
func missingPairs(def *tool.Definition, given []string) []string {
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(def.Parameters, &schema)
	var pairs []string
	for _, name := range sortedNames(schema.Properties) {
		if !slices.ContainsFunc(given,
			func(pair string) bool { return strings.HasPrefix(pair, name+"=") || strings.HasPrefix(pair, name+":=") }) {
			pairs = append(pairs, name+"=\t"+summary(schema.Properties[name].Description))
		}
	}
	return pairs
}

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

// loginNames returns the servers with logins.
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
		panic(err) // unknown flag
	}
}

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
