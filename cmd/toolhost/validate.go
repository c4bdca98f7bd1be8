package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/atomicfile"
	"github.com/toolhost/toolhost/host/command"
)

func (a *app) validateCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check agent.hcl: all mistakes at once, with file and line",
		Example: `  toolhost validate
  toolhost validate --config other.hcl --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.validate(c, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	a.toolsetFlag(c)
	return c
}

func (a *app) validate(c *cobra.Command, asJSON bool) error {
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
		if a.flags.logLevel == "warn" {
			a.logger = slog.New(slog.DiscardHandler) // what it would warn of is told with its line
		}
		p, err := a.open(c.Context())
		if err != nil {
			return err
		}
		defer p.Close()
		diags = append(diags, config.CheckExamples(cfg, command.Paths(c.Context(), p.Workspace))...)
		diags = append(diags, a.missing(p, cfg)...)
	}
	if asJSON {
		err = writeIndented(a.out, map[string]any{"valid": !diags.HasErrors(), "diagnostics": append(config.Diagnostics{}, diags...)})
	} else {
		err = diags.Write(a.err, bool(a.painter))
	}
	if err != nil {
		return err
	}
	if diags.HasErrors() {
		return &exitError{code: exitUsage}
	}
	if !asJSON {
		fmt.Fprintf(a.out, "%s is valid: %s.\n", path, declares(cfg))
	}
	return nil
}

func (a *app) fmtCommand() *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:   "fmt [FILE]",
		Short: "Rewrite agent.hcl in the canonical layout",
		Long:  "Rewrite agent.hcl in the canonical layout. FILE - formats standard input to standard output.",
		Example: `  toolhost fmt
  toolhost fmt --check
  toolhost fmt - < agent.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.format(args, check) },
	}
	c.Flags().BoolVar(&check, "check", false, "change nothing; exit 1 when the file is not in the canonical layout")
	return c
}

func (a *app) format(args []string, check bool) error {
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
	src, err := a.readConfig(path)
	if err != nil {
		return err
	}
	out, diags := config.Format(src)
	if diags.HasErrors() {
		return a.report(diags)
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
	if err := atomicfile.Update(path, out); err != nil {
		return cannotWrite(path, err).Suggest("Make room and the directory writable; --check and - write nothing.")
	}
	if approved {
		a.approveOwn(path, out) // it says the same as before
	}
	fmt.Fprintln(a.out, path)
	return nil
}

func (a *app) readConfig(path string) ([]byte, error) {
	if path == "-" {
		return a.readParamsFlag("-")
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("Name an existing file.", "%v", err)
	}
	return src, nil
}
