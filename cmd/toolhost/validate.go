package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/source/command"
)

type validateFlags struct{ json, strict bool }

func (a *app) validateCommand() *cobra.Command {
	var flags validateFlags
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check agent.hcl: all mistakes at once, with file and line",
		Long: `Check agent.hcl: all mistakes at once, with file and line, and what it names that
this machine does not have. Warnings do not keep the file from being used; with
--strict they also make the command fail, for CI.`,
		Example: `  toolhost validate
  toolhost validate --strict
  toolhost validate --config other.hcl --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.validate(c, flags) },
	}
	c.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	c.Flags().BoolVar(&flags.strict, "strict", false, "also fail on warnings")
	a.toolsetFlag(c)
	return c
}

func (a *app) validate(c *cobra.Command, flags validateFlags) error {
	path, err := a.configPath()
	if err != nil {
		return err
	}
	if path == "" {
		return usagef("toolhost init writes one; without it the defaults hold.", "there is no agent.hcl here or above")
	}
	vars, err := a.variables()
	if err != nil {
		return err
	}
	cfg, diags := config.Load(path, config.LoadOptions{Vars: vars})
	if !diags.HasErrors() {
		diags = append(diags, a.checkUse(c.Context(), path, cfg, flags.strict)...)
	}
	slices.SortStableFunc(diags, func(a, b config.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	valid := !diags.HasErrors() && !(flags.strict && len(diags) > 0)
	if flags.json {
		err = writeIndented(a.out,
			map[string]any{"valid": valid, "diagnostics": append(config.Diagnostics{}, diags...)})
	} else {
		err = diags.Write(a.err, bool(a.painter))
	}
	switch {
	case err != nil:
		return err
	case !valid && !diags.HasErrors() && !flags.json:
		return usagef("Correct what they are about, or leave --strict out.",
			"%s has %s, and --strict allows none", path, counted(len(diags), "warning"))
	case !valid:
		return &exitError{code: exitUsage}
	case !flags.json:
		fmt.Fprintf(a.out, "%s is valid: %s.\n", path, declarations(cfg))
	}
	return nil
}

// declarations lists what agent.hcl declares, by kind: "3 tools, 1 plugin".
func declarations(cfg *config.Config) string {
	var parts []string
	for _, kind := range []struct {
		n    int
		what string
	}{
		{len(cfg.Tools), "tool"}, {len(cfg.Resources), "resource"}, {len(cfg.Prompts), "prompt"},
		{len(cfg.Plugins), "plugin"},
		{len(cfg.Servers), "MCP server"}, {len(cfg.Agents), "agent"}, {len(cfg.Toolsets), "toolset"},
	} {
		if kind.n > 0 {
			parts = append(parts, counted(kind.n, kind.what))
		}
	}
	if parts == nil {
		return "it declares no tools of its own"
	}
	return strings.Join(parts, ", ")
}

// checkUse opens the project, as other commands do, and returns all mistakes as diagnostics.
func (a *app) checkUse(ctx context.Context, path string, cfg *config.Config, strict bool) (diags config.Diagnostics) {
	opening := *a
	if a.flags.logLevel == "warn" {
		opening.logger = slog.New(slog.DiscardHandler) // its warnings are reported with their line
	}
	opening.reported = &diags
	if a.flags.workspace == "" {
		diags = append(diags, cfg.CheckTrees()...)
		if diags.HasErrors() { // the rest is checked as if the root were the file's directory
			opening.flags.config, opening.flags.workspace = path, cfg.Dir
		}
	}
	p, err := opening.open(ctx)
	if err != nil {
		if exit, ok := errors.AsType[*exitError](err); !ok || exit.err != nil {
			e := tool.AsError(err)
			diags = append(diags, cfg.Report("error", "", "Cannot be used", e.Message, e.Suggestion))
		}
		return diags
	}
	defer p.Close()
	diags = append(diags, config.CheckExamples(cfg, command.Paths(ctx, p.Workspace))...)
	c := checker{project: p, cfg: cfg, inert: opening.standing.Load().State != agentfile.Approved, toolset: a.flags.toolset,
		strict: strict}
	return append(diags, c.check(ctx)...)
}

func (a *app) fmtCommand() *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:   "fmt [FILE]",
		Short: "Rewrite agent.hcl in the canonical layout",
		Long:  "Rewrite agent.hcl in the canonical layout. With - as FILE, it formats standard input to standard output.",
		Example: `  toolhost fmt
  toolhost fmt --check
  toolhost fmt - < agent.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.format(c.Context(), args, check) },
	}
	c.Flags().BoolVar(&check, "check", false, "change nothing; exit 1 when the file is not in the canonical layout")
	return c
}

func (a *app) format(ctx context.Context, args []string, check bool) error {
	path := ""
	if len(args) > 0 {
		path = args[0]
	} else {
		found, err := a.configPath()
		if err != nil {
			return err
		}
		path = found
	}
	if path == "" {
		return usagef("Name a file, or write one with toolhost init.", "there is no agent.hcl here or above")
	}
	src, err := a.readConfig(ctx, path)
	if err != nil {
		return err
	}
	out, diags := config.Format(src)
	if diags.HasErrors() {
		return a.report(diags.QuotedFrom(path))
	}
	switch {
	case path == "-":
		_, err := a.out.Write(out)
		return err
	case string(out) == string(src):
		return nil
	case check:
		fmt.Fprintln(a.out, path)
		return &exitError{code: exitFailed}
	}
	approved := a.approvedText(path, src)
	if err := writeUserFile(path, out); err != nil {
		return notWritten(path, err, "Make room on the disk, or the directory writable; --check and - write nothing.")
	}
	if approved {
		a.approveOwn(path, out) // same meaning as before
	}
	fmt.Fprintln(a.out, path)
	return nil
}

func (a *app) readConfig(ctx context.Context, path string) ([]byte, error) {
	if path == "-" {
		return a.readParamsFlag(ctx, "-")
	}
	src, err := plainfile.Read(path, 1<<30)
	if err != nil {
		return nil, usagef("Name an existing file.", "%v", err)
	}
	return src, nil
}
