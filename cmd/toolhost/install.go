package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/clientconfig"
)

// clientFlags are the flags of toolhost install and uninstall.
type clientFlags struct {
	name    string
	project bool
	print   bool
	link    bool
}

func clientIDs() []string {
	var ids []string
	for _, c := range clientconfig.Clients() {
		ids = append(ids, c.ID)
	}
	return ids
}

func (a *app) installCommand() *cobra.Command {
	var flags clientFlags
	c := &cobra.Command{
		Use:   "install CLIENT",
		Short: "Have an MCP client start toolhost",
		Long: `Write the entry that has an MCP client start toolhost into the client's own
configuration file, or repair one that is there. Everything else in the file
stays as it is, comments too, and the old file is kept beside it.

Clients: ` + strings.Join(clientIDs(), ", ") + `.

A client that does not start its servers in the project that is open gets the
project written into the entry: the one of --workspace, or else of the working
directory.`,
		Example: `  toolhost install claude-code
  toolhost install vscode --project
  toolhost install claude-desktop --workspace ~/src/demo --toolset agent
  toolhost install codex --print
  toolhost install cursor --link`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: clientIDs(),
		RunE:      func(_ *cobra.Command, args []string) error { return a.install(args[0], flags) },
	}
	a.registerClientFlags(c, &flags)
	c.Flags().BoolVar(&flags.print, "print", false, "print the entry, as a file of its own, and write nothing")
	c.Flags().BoolVar(&flags.link, "link", false,
		"print a link that has the client take the server over, and write nothing (Cursor, VS Code)")
	c.MarkFlagsMutuallyExclusive("print", "link")
	a.toolsetFlag(c)
	return c
}

func (a *app) uninstallCommand() *cobra.Command {
	var flags clientFlags
	var all, yes bool
	c := &cobra.Command{
		Use:   "uninstall CLIENT | --all",
		Short: "Take toolhost out of an MCP client's configuration, or remove all that it keeps",
		Long: `Take toolhost out of an MCP client's configuration.

With --all, list everything that toolhost keeps for you on this machine: its
entries in the configurations of all clients, approvals, rules, logins, the record,
undo, todos, memories, installed plugins and caches. With --yes too, remove it.`,
		Example: `  toolhost uninstall cursor
  toolhost uninstall vscode --project
  toolhost uninstall --all --yes`,
		Args: func(c *cobra.Command, args []string) error {
			if all {
				return cobra.NoArgs(c, args)
			}
			return cobra.ExactArgs(1)(c, args)
		},
		ValidArgs: clientIDs(),
		RunE: func(_ *cobra.Command, args []string) error {
			if all {
				return a.uninstallAll(yes)
			}
			return a.uninstall(args[0], flags)
		},
	}
	a.registerClientFlags(c, &flags)
	c.Flags().BoolVar(&all, "all", false, "list all that toolhost keeps for you on this machine")
	c.Flags().BoolVar(&yes, "yes", false, "with --all, remove it")
	c.MarkFlagsMutuallyExclusive("all", "project")
	c.MarkFlagsMutuallyExclusive("all", "name")
	return c
}

func (a *app) registerClientFlags(c *cobra.Command, flags *clientFlags) {
	c.Flags().StringVar(&flags.name, "name", "toolhost", "the server's name in the client")
	c.Flags().BoolVar(&flags.project, "project", false,
		"the project's own configuration file, for all who work on it, instead of yours")
}

func (a *app) install(id string, flags clientFlags) error {
	client, err := clientconfig.Find(id)
	if err != nil {
		return usage(err)
	}
	file, before, err := a.clientFile(client, flags)
	if err != nil {
		return err
	}
	server, err := a.clientServer(client, flags)
	if err != nil {
		return err
	}
	found := a.examineFor(id)
	defer func() { found.warn(a, client) }()
	if client.FiltersEnv() {
		server.Env = found.env()
	}
	if flags.print || flags.link {
		return a.showEntry(client, file, server, flags.link)
	}
	change, err := client.Install(file, before, server)
	if err != nil {
		return err
	}
	if !change.Changed() {
		fmt.Fprintf(a.out, "%s has the server %s already, as it should be: %s\n", client.Title, flags.name, file)
		return nil
	}
	if err := change.Write(); err != nil {
		return err
	}
	done := "wrote"
	if change.Existed {
		done = "repaired"
	}
	fmt.Fprintf(a.out, "%s %s the server %s in %s: %s\n", a.painter.green("✓"), done, flags.name, file,
		strings.Join(append([]string{server.Command}, server.Args...), " "))
	a.tellBackup(change)
	fmt.Fprintln(a.out, "  "+client.After)
	if found.standing != nil && len(found.standing.Config.Servers) > 0 {
		a.fillCache()
	}
	return nil
}

// showEntry prints what install would write, as a file of its own or as a link.
func (a *app) showEntry(client *clientconfig.Client, file string, server clientconfig.Server, asLink bool) error {
	if asLink {
		link, err := client.Link(server)
		if err != nil {
			return usage(err)
		}
		fmt.Fprintln(a.out, link)
		return nil
	}
	change, err := client.Install(file, nil, server)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "For %s:\n", file)
	_, err = a.out.Write(change.After)
	return err
}

func (a *app) uninstall(id string, flags clientFlags) error {
	client, err := clientconfig.Find(id)
	if err != nil {
		return usage(err)
	}
	file, before, err := a.clientFile(client, flags)
	if err != nil {
		return err
	}
	original, err := clientconfig.ReadOriginal(file)
	if err != nil {
		return err
	}
	change, err := client.Uninstall(file, before, original, flags.name)
	if err != nil {
		return err
	}
	if !change.Existed {
		fmt.Fprintf(a.out, "%s has no server %s: %s\n", client.Title, flags.name, file)
		return nil
	}
	if err := change.Write(); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s took the server %s out of %s\n", a.painter.green("✓"), flags.name, file)
	a.tellBackup(change)
	return nil
}

func (a *app) tellBackup(change *clientconfig.Change) {
	if change.Before != nil {
		fmt.Fprintf(a.out, "  The file as it was is %s%s.\n", change.File, clientconfig.BackupSuffix)
	}
}

// clientFile finds and reads the configuration file that is meant.
func (a *app) clientFile(client *clientconfig.Client, flags clientFlags) (file string, text []byte, err error) {
	if flags.project {
		dir, err := a.projectDir()
		if err != nil {
			return "", nil, err
		}
		if file, err = client.ProjectFile(dir); err != nil {
			return "", nil, usage(err)
		}
	} else {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", nil, usagef("Set HOME.", "there is no home directory: %v", err)
		}
		file = clientconfig.Choose(client.UserFiles(clientconfig.Machine{OS: runtime.GOOS, Home: home, Env: os.Getenv}))
	}
	text, err = clientconfig.Read(file)
	return file, text, err
}

// clientServer is what the client is to start.
func (a *app) clientServer(client *clientconfig.Client, flags clientFlags) (clientconfig.Server, error) {
	server := clientconfig.Server{Name: flags.name, Args: []string{"serve"}}
	if flags.name == "" {
		return server, usagef("Give one.", "--name is empty")
	}
	var err error
	if server.Command, err = ownCommand(flags.project); err != nil {
		return server, err
	}
	workspace, err := a.clientWorkspace(client, flags)
	if err != nil {
		return server, err
	}
	if workspace != "" {
		server.Args = append(server.Args, "--workspace", workspace)
	}
	if a.flags.config != "" {
		path, err := filepath.Abs(a.flags.config)
		if err != nil {
			return server, err
		}
		server.Args = append(server.Args, "--config", path)
	}
	if a.flags.toolset != "" {
		server.Args = append(server.Args, "--toolset", a.flags.toolset)
	}
	return server, nil
}

// clientWorkspace is the workspace to name in the entry, "" when the client
// starts its servers in the right place.
func (a *app) clientWorkspace(client *clientconfig.Client, flags clientFlags) (string, error) {
	switch {
	case a.flags.workspace != "" && !flags.project:
		return filepath.Abs(a.flags.workspace)
	case client.StartsInProject:
		return "", nil
	case client.ProjectArg != "" && (flags.project || client.ProjectArgForUser):
		return client.ProjectArg, nil
	}
	return a.projectDir()
}

// projectDir is the directory of the project that is meant.
func (a *app) projectDir() (string, error) {
	if a.flags.workspace != "" {
		return filepath.Abs(a.flags.workspace)
	}
	if path, ok := config.Find("."); ok {
		return filepath.Abs(filepath.Dir(path))
	}
	return filepath.Abs(".")
}

// ownCommand is how a client starts this program. In a file that others use
// too it is the name alone, where PATH leads to it.
func ownCommand(shared bool) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	onPath, err := exec.LookPath("toolhost")
	if err != nil || !filepath.IsAbs(onPath) || !sameFile(onPath, self) {
		return self, nil
	}
	if shared {
		return "toolhost", nil
	}
	return onPath, nil
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// fillWait is how long the servers of a project may take to tell their tools
// when a client is set up.
const fillWait = 30 * time.Second

// fillCache connects once to the MCP servers that the project declares, so that
// the first list that a client gets has their tools. What fails here is told
// where the tools are used.
func (a *app) fillCache() {
	cfg, err := a.loadConfig()
	if err != nil || len(cfg.Servers) == 0 {
		return
	}
	fmt.Fprintln(a.err, a.painter.dim("asking the MCP servers of agent.hcl for their tools ..."))
	ctx, cancel := context.WithTimeout(context.Background(), fillWait)
	defer cancel()
	opening := *a
	opening.patience = fillWait
	p, err := opening.open(ctx)
	if err != nil {
		return
	}
	defer p.Close()
	if servers := p.Servers(); servers != nil {
		servers.Load(ctx)
		p.TakeOver(ctx)
	}
}
