package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/config/packs"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/clientconfig"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project/agentfile"
)

func (a *app) initCommand() *cobra.Command {
	var force, asJSON bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Write an agent.hcl for this project",
		Long: `Write an agent.hcl for this project, with the tools that build, test and check it.
They are chosen by its files (a Taskfile, Makefile, go.mod, package.json,
pyproject.toml, Cargo.toml and others) from the packs of "toolhost add". The standard
tools need no agent.hcl.

Tools that install packages may reach only the hosts that you have set for their
programs: npm, go and others are asked for them. Nothing of the project is run.`,
		Example: `  toolhost init
  toolhost init --workspace ../other
  toolhost init --force`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.initialize(c.Context(), force, asJSON)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace an existing agent.hcl")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

const elsewhere = "Make the directory writable, or use --workspace DIR."

func (a *app) initialize(ctx context.Context, force, asJSON bool) error {
	path := a.flags.config
	if path == "" {
		path = filepath.Join(cmp.Or(a.flags.workspace, "."), config.FileName)
	}
	dir := filepath.Dir(path)
	if _, err := os.Lstat(path); err == nil && !force {
		return usagef("Use --force to replace it, or toolhost add to add to it.", "%s exists", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(path, err).Suggest(elsewhere)
	}
	above, _ := config.Find(dir)
	project := os.DirFS(dir)
	written, others := packs.Detect(project)
	var texts []string
	hosts := make(map[string][]string)
	for _, f := range written {
		reached, env := a.settingsOf(ctx, f.Pack, project)
		hosts[f.Name] = reached
		texts = append(texts, f.Render(project, f.Match, reached, env))
	}
	text := packs.File(texts)
	if err := writeUserFile(path, text); err != nil {
		return notWritten(path, err, elsewhere)
	}
	a.approveOwn(path, text)
	if absolute, err := filepath.Abs(path); err == nil && above != "" && above != absolute {
		fmt.Fprintf(a.err, "%s Below here it takes the place of %s.\n", a.painter.yellow("!"), above)
	}
	made := initialized{Path: path, Packs: []writtenPack{}, Below: projectsBelow(project), Clients: a.clientsHere()}
	for _, f := range written {
		made.Packs = append(made.Packs, writtenPack{f.Name, f.File, append([]string{}, f.Tools...), hosts[f.Name], missing(f.Needs)})
	}
	for _, f := range others {
		if len(missing(f.Needs)) == 0 {
			made.More = append(made.More, f.Name)
		}
	}
	made.First, made.Next = linesToType(project, written)
	if asJSON {
		return writeIndented(a.out, made)
	}
	a.showInitialized(made)
	return nil
}

// initialized is the result of init, and its JSON.
type initialized struct {
	Path    string        `json:"path"`
	Packs   []writtenPack `json:"packs"`
	More    []string      `json:"more,omitempty"`    // other packs that fit
	Below   []string      `json:"below,omitempty"`   // directories with their own project
	Clients []string      `json:"clients,omitempty"` // MCP clients without toolhost
	First   string        `json:"first,omitempty"`   // to type in a fresh clone
	Next    string        `json:"next"`
}

type writtenPack struct {
	Name    string   `json:"name"`
	File    string   `json:"file"` // the reason for the pack
	Tools   []string `json:"tools"`
	Network []string `json:"network,omitempty"`
	Missing []string `json:"missing,omitempty"` // programs
}

func (a *app) showInitialized(made initialized) {
	fmt.Fprintf(a.out, "Wrote %s%s\n", made.Path, map[bool]string{true: " with", false: ""}[len(made.Packs) > 0])
	for _, pack := range made.Packs {
		tools := cmp.Or(strings.Join(pack.Tools, ", "), "list_commands, run_command")
		if len(pack.Network) > 0 {
			tools += " (network: " + strings.Join(pack.Network, ", ") + ")"
		}
		fmt.Fprintf(a.out, "  %s: %s\n", show.Line(pack.File), tools)
		if len(pack.Missing) > 0 {
			fmt.Fprintf(a.out, "    %s is not installed\n", strings.Join(pack.Missing, ", "))
		}
	}
	if len(made.More) > 0 {
		fmt.Fprintf(a.out, "More that fits: toolhost add %s\n", strings.Join(made.More, " "))
	}
	if below := made.Below; len(below) > 0 {
		fmt.Fprintf(a.out, "Projects below, each for a toolhost init of its own: %s\n", strings.Join(below[:min(len(below), 8)], ", "))
	}
	if len(made.Clients) > 0 {
		fmt.Fprintf(a.out, "Connect an agent: toolhost install %s\n", strings.Join(made.Clients, ", or "))
	}
	if made.First != "" {
		fmt.Fprintf(a.out, "In a fresh clone: %s\n", made.First)
	}
	fmt.Fprintf(a.out, "Next: %s\n", made.Next)
}

// maxBelow bounds the examined entries of the project's directory.
const maxBelow = 200

// projectsBelow returns the directories with their own project, and by which file.
func projectsBelow(project fs.FS) (below []string) {
	entries, _ := fs.ReadDir(project, ".")
	for _, e := range entries[:min(len(entries), maxBelow)] {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "vendor" {
			continue
		}
		if sub, err := fs.Sub(project, e.Name()); err == nil {
			if found, _ := packs.Detect(sub); len(found) > 0 {
				below = append(below, show.Line(e.Name()+" ("+found[0].File+")"))
			}
		}
	}
	return below
}

// linesToType returns what to type first in a fresh clone, if anything, and next.
func linesToType(project fs.FS, written []packs.Found) (first, next string) {
	for _, f := range written {
		if try, before := f.Lines(f.Match); len(missing(f.Needs)) == 0 {
			first = cmp.Or(first, before)
			if next = try; try != "" {
				break
			}
		}
	}
	// A project by itself does not bring its test runner: pip_install gets pytest only from requirements.txt.
	requirements, _ := fs.ReadFile(project, "requirements.txt")
	if next == "toolhost call pytest" && strings.Contains(first, "pip_install") &&
		!bytes.Contains(requirements, []byte("pytest")) {
		first += `; toolhost call pip_add packages='["pytest"]'`
	}
	return first, cmp.Or(next, "toolhost list")
}

// clientsHere lists the MCP clients that have a user configuration without toolhost.
func (a *app) clientsHere() (ids []string) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	machine := clientconfig.Machine{OS: runtime.GOOS, Home: home, Env: os.Getenv}
	for _, client := range clientconfig.Clients() {
		for _, file := range client.UserFiles(machine) {
			text, err := clientconfig.Read(file)
			if err != nil || text == nil {
				continue
			}
			if entries, err := client.Entries(file, text); err == nil && len(entries) == 0 {
				ids = append(ids, client.ID)
			}
			break
		}
	}
	return ids
}

// cannotWrite says why a file cannot be written, without the temporary file's name.
func cannotWrite(path string, err error) *tool.Error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", path, err)
}

// approveOwn approves a file that the user has just had written. If that cannot be stored, the file
// needs approval like others.
func (a *app) approveOwn(path string, text []byte) {
	vars, err := a.variables()
	if err != nil {
		return
	}
	cfg, _ := config.Parse(path, text, config.LoadOptions{Vars: vars})
	store, err := a.trustStore(cfg)
	if err == nil {
		err = agentfile.ApproveAgain(store, path, text, vars)
	}
	if err != nil {
		a.logger.Warn("the new file is not approved yet", "error", err)
	}
}
