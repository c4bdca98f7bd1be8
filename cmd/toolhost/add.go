package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/config/packs"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

type addFlags struct {
	print, yes, json bool
	hosts            []string
}

func (a *app) addCommand() *cobra.Command {
	var flags addFlags
	c := &cobra.Command{
		Use:   "add [PACK...]",
		Short: "Add ready-made tools to agent.hcl, or list them",
		Long: `Write the tools of a pack into this project's agent.hcl: wrappers of npm, pytest, go,
git, psql and others. What is written is yours to change. Without a name, list the
packs.

A tool that installs packages may reach the hosts that you have set for its
program, as in "npm config get registry". If none are set, its block has a comment
with the line to add.`,
		Example: `  toolhost add
  toolhost add pytest ruff
  toolhost add npm --print
  toolhost add curl --host api.example.com`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return packNames(), noFiles
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listPacks(flags.json)
			}
			return a.add(c.Context(), args, flags)
		},
	}
	c.Flags().BoolVar(&flags.print, "print", false, "print what would be written, and write nothing")
	c.Flags().BoolVar(&flags.yes, "yes", false,
		"approve the new agent.hcl even without a terminal, if the old one was approved")
	c.Flags().StringArrayVar(&flags.hosts, "host", nil,
		"a host that the tools may reach, instead of the registries in the program's own settings (repeatable)")
	c.Flags().BoolVar(&flags.json, "json", false, "print the list of packs as JSON")
	return c
}

func packNames() (names []string) {
	for _, p := range packs.All() {
		names = append(names, p.Name)
	}
	return names
}

type listedPack struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Needs       []string `json:"needs"`
	// Missing are the programs of Needs not on PATH.
	Missing []string `json:"missing"`
	// Detected reports whether the pack fits this project.
	Detected bool `json:"detected"`
}

func (a *app) listPacks(asJSON bool) error {
	dir := os.DirFS(cmp.Or(a.flags.workspace, "."))
	var listed []listedPack
	for _, p := range packs.All() {
		_, detected := p.In(dir)
		listed = append(listed, listedPack{p.Name, p.Description, append([]string{}, p.Tools...), append([]string{}, p.Needs...),
			missing(p.Needs), detected})
	}
	if asJSON {
		return writeIndented(a.out, map[string]any{"packs": listed})
	}
	rows := [][4]string{{"PACK", "NEEDS", "HERE", "DOES"}}
	for _, p := range listed {
		here := ""
		switch {
		case p.Detected:
			here = "fits"
		case len(p.Missing) > 0:
			here = "missing"
		}
		rows = append(rows, [4]string{p.Name, strings.Join(p.Needs, ", "), here, p.Description})
	}
	var text strings.Builder
	out := bufio.NewWriter(&text)
	writeRows(out, rows)
	if err := out.Flush(); err != nil {
		return err
	}
	return writeFitting(a.out, []byte(text.String()), terminalWidth(a.out))
}

func missing(programs []string) []string {
	none := []string{}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			none = append(none, name)
		}
	}
	return none
}

func (a *app) add(ctx context.Context, names []string, flags addFlags) error {
	path, err := a.configPath()
	if err != nil {
		return err
	}
	path = cmp.Or(path, filepath.Join(cmp.Or(a.flags.workspace, "."), config.FileName))
	dir := filepath.Dir(path)
	var texts []string
	for _, name := range names {
		text, err := a.packText(ctx, dir, name, flags.hosts)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	added := strings.Join(texts, "\n")
	if flags.print {
		_, err := a.out.Write([]byte(added))
		return err
	}
	return a.addText(path, added, flags)
}

func (a *app) packText(ctx context.Context, dir, name string, hosts []string) (string, error) {
	all := packs.All()
	i := slices.IndexFunc(all, func(p *packs.Pack) bool { return p.Name == name })
	if i < 0 {
		return "", usagef(nearest.Hint(name, packNames(), "toolhost add lists all packs."), "there is no pack %q", name)
	}
	p, project := all[i], os.DirFS(dir)
	if why := p.Unfit(project); why != "" {
		return "", usagef("toolhost add lists all packs.", "%s is not for the project in %s: %s", name, dir, why)
	}
	m, _ := p.In(project)
	var env map[string]string
	if hosts == nil {
		hosts, env = a.settingsOf(ctx, p, project)
	} else if _, err := network.Parse(hosts); err != nil {
		return "", usagef("Write --host HOST or --host HOST:PORT.", "%v", err)
	}
	return p.Render(project, m, hosts, env), nil
}

// addText appends a text to an agent.hcl, if the whole is valid.
func (a *app) addText(path, added string, flags addFlags) error {
	before, err := plainfile.Read(path, 1<<30)
	exists := err == nil
	if err != nil && isThere(path) {
		return usagef("Make it readable.", "%v", err)
	}
	text := []byte(added)
	if exists {
		end := "\n"
		if bytes.Contains(before, []byte("\r\n")) {
			end = "\r\n"
		}
		text = []byte(strings.TrimRight(string(before), "\r\n") + end + end + strings.ReplaceAll(added, "\n", end))
	}
	vars, err := a.variables()
	if err != nil {
		return err
	}
	if err := a.twice(path, before, added, vars); err != nil {
		return err
	}
	if _, diags := config.Parse(path, text, config.LoadOptions{Vars: vars}); diags.HasErrors() {
		return a.report(diags.QuotedFrom(path))
	}
	approve := (!exists || a.approvedText(path, before)) && (flags.yes || isTerminal(a.in) && isTerminal(a.out))
	if err := writeUserFile(path, text); err != nil {
		return notWritten(path, err, elsewhere)
	}
	next := "Next: toolhost trust, which shows what is new and approves it."
	cfg, _ := config.Parse(path, []byte(added), config.LoadOptions{Vars: vars})
	if approve {
		a.approveOwn(path, text)
		next = "Next: toolhost list"
		if len(cfg.Tools) > 0 {
			next = "Next: toolhost describe " + cfg.Tools[0].Name
		}
	}
	var tools []string
	for _, t := range cfg.Tools {
		tools = append(tools, t.Name)
	}
	fmt.Fprintf(a.out, "Added to %s: %s\n%s\n", path, cmp.Or(strings.Join(tools, ", "), "taskfile"), next)
	return nil
}

// twice refuses a text with a tool that the file already has.
func (a *app) twice(path string, before []byte, added string, vars map[string]string) error {
	old, _ := config.Parse(path, before, config.LoadOptions{Vars: vars})
	cfg, _ := config.Parse(path, []byte(added), config.LoadOptions{Vars: vars})
	for _, t := range cfg.Tools {
		for _, o := range old.Tools {
			if o.Name == t.Name {
				return usagef("Rename or remove that one, or take what you need from toolhost add --print.",
					"there is a tool %s already, at %s", t.Name, o.Pos)
			}
		}
	}
	return nil
}

// settingsPatience bounds how long a program may take to print its settings.
const settingsPatience = 10 * time.Second

// settingsOf asks a program of the user for a pack's hosts and for the variables with their URLs. It runs
// outside the project, whose files must not choose what may be reached.
func (a *app) settingsOf(ctx context.Context, p *packs.Pack, project fs.FS) (hosts []string, env map[string]string) {
	if !p.Reaches() {
		return nil, nil
	}
	env = make(map[string]string)
	for _, s := range p.Settings {
		text := ""
		home, inHome := strings.CutPrefix(s.File, "~/")
		switch {
		case inHome:
			dir, _ := os.UserHomeDir()
			data, _ := plainfile.Read(filepath.Join(dir, home), 1<<20)
			text = string(data)
		case s.File != "":
			data, _ := fs.ReadFile(project, s.File)
			text = string(data)
		default:
			text = a.settingsText(ctx, s.Command)
		}
		for _, host := range s.Hosts(text) {
			if _, err := network.Parse([]string{host}); err == nil && !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
		value, withheld := s.Value(project, text)
		if withheld {
			fmt.Fprintf(a.err, "%s %s is not set for %s: the URL in your settings has credentials or a query. Set it without them "+
				"in agent.hcl, and give them in a credential block.\n", a.painter.yellow("!"), strings.Join(s.Variables, ", "), p.Name)
		}
		if value != "" {
			for _, name := range s.Variables {
				env[name] = value
			}
		}
	}
	return hosts, env
}

// settingsText returns the settings that a program prints, "" on failure.
func (a *app) settingsText(ctx context.Context, command []string) string {
	if _, err := exec.LookPath(command[0]); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, settingsPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = string(filepath.Separator)
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "npm_config_update_notifier=false", "PIP_DISABLE_PIP_VERSION_CHECK=1", "NO_COLOR=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		a.logger.Debug("settings could not be read", "command", strings.Join(command, " "), "error", err)
		return ""
	}
	return string(out)
}
