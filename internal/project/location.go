package project

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/project/trust"
	"github.com/toolhost/toolhost/internal/store/approval"
)

// Location selects the agent.hcl and its user's settings.
type Location struct {
	// Workspace replaces agent.hcl's workspace directory, and is where the search begins. Empty begins
	// in the working directory.
	Workspace string
	// File is the agent.hcl to use. It needs no approval.
	File string
	// Trust approves a found file for one run.
	Trust bool
	// Vars are values of agent.hcl's variables.
	Vars map[string]string
}

// trustVariable is the environment variable that approves a file for one run.
const trustVariable = "TOOLHOST_TRUST"

// Find finds the agent.hcl and its standing.
func (p Location) Find() (*agentfile.Standing, config.Diagnostics) {
	options := agentfile.Options{
		Dir: p.Workspace, File: p.File, All: p.Trust || os.Getenv(trustVariable) == "1", Vars: p.Vars,
		Usable: func(cfg *config.Config) bool {
			_, err := p.TrustStore(cfg)
			return err == nil
		},
	}
	if dir, err := trust.Dir(); err == nil {
		options.Store = trust.Open(dir)
	}
	return agentfile.Find(options)
}

// TrustStore returns the approvals. It is an error if tools could write them.
func (p Location) TrustStore(cfg *config.Config) (*trust.Store, error) {
	dir, err := trust.Dir()
	if err != nil {
		return nil, err
	}
	for _, tree := range append([]string{cmp.Or(p.Workspace, cfg.Workspace.Root, ".")}, cfg.Workspace.Allow...) {
		if realpath.Within(dir, tree) {
			return nil, usage(tool.Errorf(tool.InvalidArgument,
				"approvals are kept in %s, which lies in %s, where tools could write them", dir, tree).
				Suggest("Use --trust for one run, or work in a directory below your home."))
		}
	}
	return trust.Open(dir), nil
}

// usable refuses directories that must not be a workspace, and variables without a file.
func (p Location) usable(s *agentfile.Standing) error {
	if names := slices.Sorted(maps.Keys(p.Vars)); s.Path == "" && len(names) > 0 {
		return usage(tool.Errorf(tool.InvalidArgument,
			"--var %s=%s sets a variable of agent.hcl, and there is none here", names[0], p.Vars[names[0]]).
			Suggest("Name the file with --config, or leave --var out."))
	}
	root := s.Config.Workspace.Root
	if s.State != agentfile.None && s.State != agentfile.Unapproved || p.Workspace != "" {
		return nil
	}
	if why := agentfile.NoProject(root); why != "" {
		return usage(tool.Errorf(tool.InvalidArgument, "%s is not taken as the workspace: %s", root, why).
			Suggest("Start it in a project, name the directory with --workspace DIR, or approve an agent.hcl " +
				"there: toolhost init --workspace DIR writes one."))
	}
	return nil
}

// Path returns the selected agent.hcl, or "".
func (p Location) Path() string {
	if p.File != "" {
		return p.File
	}
	path, _ := config.Find(cmp.Or(p.Workspace, "."))
	return path
}

// absent returns what to do about an unknown tool that an inactive agent.hcl may declare.
func absent(s *agentfile.Standing) string {
	if s == nil || s.State == agentfile.Missing {
		return ""
	}
	return s.ForModels()
}

// howToApprove tells an agent how its user approves a waiting call.
func (p Location) howToApprove(pending approval.Pending, root string) string {
	return fmt.Sprintf("Ask the user to run `%s` in a terminal in %s within %s; then make exactly this call again. "+
		"A policy rule in agent.hcl would allow it for good.",
		p.Again("approve "+pending.ID), show.Word(root), approval.Spoken(approval.PendingTime))
}

// Again returns a toolhost command line with the flags that select this place.
func (p Location) Again(command string) string {
	line := "toolhost " + command
	for _, word := range p.flags() {
		line += " " + show.Word(word)
	}
	return line
}

// flags select this place from any directory, and trust the file if its user does.
func (p Location) flags() (flags []string) {
	for _, flag := range []struct{ name, path string }{{"--config", p.File}, {"--workspace", p.Workspace}} {
		if absolute, err := filepath.Abs(flag.path); flag.path != "" && err == nil {
			flags = append(flags, flag.name, absolute)
		}
	}
	if p.Trust {
		flags = append(flags, "--trust")
	}
	return flags
}
