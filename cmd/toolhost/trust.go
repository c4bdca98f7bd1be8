package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/trust"
)

func (a *app) trustCommand() *cobra.Command {
	var revoke, list bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Approve this project's agent.hcl, as it is now",
		Long: `Approve this project's agent.hcl, as it is now.

An agent.hcl can run programs and loosen limits. Until you have approved it, none
of that takes effect: its commands, plugins, servers, further directories,
addresses, sandbox and policy are left out. An approval is for the file's content;
a change asks again. A file named with --config counts as approved, and --trust
or TOOLHOST_TRUST=1 approves for one run.`,
		Example: `  toolhost trust --show
  toolhost trust
  toolhost trust --revoke`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.trust(revoke, list) },
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "take the approval back")
	c.Flags().BoolVar(&list, "show", false, "only show what an approval would let it do")
	return c
}

func (a *app) trust(revoke, show bool) error {
	path, err := a.configPath()
	if err != nil {
		return err
	}
	if path == "" {
		return usagef("There is nothing to approve: the standard tools need no approval.", "there is no agent.hcl here or above")
	}
	cfg, err := a.readConfigFile(path)
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	dir, err := trust.Dir()
	if err != nil {
		return err
	}
	if liesIn(dir, cfg.Workspace.Root) {
		return usagef("Use --trust for one run, or work in a directory below your home.", "approvals are kept in %s, which lies in this workspace, where tools could write them", dir)
	}
	store := trust.Open(dir)
	if revoke {
		fmt.Fprintf(a.out, "%s is no longer approved.\n", absolute)
		return store.Revoke(absolute)
	}
	fmt.Fprintf(a.out, "%s:\n", absolute)
	for _, line := range cfg.Loosens() {
		fmt.Fprintf(a.out, "  %s\n", line)
	}
	if len(cfg.Loosens()) == 0 {
		fmt.Fprintln(a.out, "  runs nothing and loosens nothing")
	}
	if show {
		return nil
	}
	if err := store.Approve(absolute, cfg.SHA256); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "Approved. A change of the file will ask again.")
	return nil
}

// trusted reports whether what the file says may take effect.
func (a *app) trusted(cfg *config.Config) bool {
	if a.flags.config != "" || a.flags.trust || os.Getenv("TOOLHOST_TRUST") == "1" || len(cfg.Loosens()) == 0 {
		return true
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return false
	}
	dir, err := trust.Dir()
	if err != nil || liesIn(dir, cfg.Workspace.Root) {
		return false // what tools can write approves nothing
	}
	return trust.Open(dir).Status(path, cfg.SHA256) == trust.Approved
}

func liesIn(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// inert is a configuration without all that runs code or loosens anything.
// What restricts stays: protected files, limits, toolsets.
func inert(cfg *config.Config) *config.Config {
	return &config.Config{
		Path: cfg.Path, Dir: cfg.Dir, SHA256: cfg.SHA256,
		Workspace: config.Workspace{Root: cfg.Dir, Protect: cfg.Workspace.Protect},
		Toolsets:  cfg.Toolsets,
		Limits:    cfg.Limits,
		Granted:   cfg.Granted,
	}
}

// tellInert tells, once, that a file is not approved.
func (a *app) tellInert(cfg *config.Config) {
	effects := "1 thing in it has"
	if n := len(cfg.Loosens()); n != 1 {
		effects = fmt.Sprintf("%d things in it have", n)
	}
	fmt.Fprintf(a.err, "%s %s is not approved, so %s no effect.\n  toolhost trust --show lists them, toolhost trust approves the file, --trust this run alone.\n",
		a.painter.yellow("!"), cfg.Path, effects)
}

// pointAtTrust has the error about an unknown tool say how it comes to be, where
// a file that is not approved declares it.
func (a *app) pointAtTrust(name string, err error) bool {
	e, ok := errors.AsType[*tool.Error](err)
	if !ok || e.Code != tool.NotFound || a.inert == nil {
		return false
	}
	declared := slices.ContainsFunc(a.inert.Tools, func(t argv.Spec) bool { return t.Name == name })
	if declared {
		e.Suggestion = a.inert.Path + " declares it and is not approved. See what it does with toolhost trust --show, and approve it with toolhost trust."
	}
	return declared
}
