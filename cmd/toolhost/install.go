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
	"github.com/toolhost/toolhost/internal/face/clientconfig"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/project/agentfile"
)

type clientFlags struct {
	name    string
	project bool
	print   bool
	link    bool
	replace bool
	search  bool
	json    bool
}

// installedServer is the JSON output of toolhost install.
type installedServer struct {
	Client  string   `json:"client"`
	File    string   `json:"file"`
	Server  string   `json:"server"`
	Command []string `json:"command"`
	Change  string   `json:"change"`           // wrote, repaired or none
	Backup  string   `json:"backup,omitempty"` // the earlier file
	After   string   `json:"after,omitempty"`  // what to do in the client
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
		Short: "Add toolhost to an MCP client's configuration",
		Long: `Add the entry that starts toolhost to an MCP client's own configuration file, or
repair an existing one. Everything else in the file stays as it is, including
comments, and the old file is kept beside it.

Clients: ` + strings.Join(clientIDs(), ", ") + `.

Some clients do not start their servers in the project that is open. For these the
entry names a project: that of --workspace, or else that of the working directory.`,
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
	c.Flags().BoolVar(&flags.print, "print", false,
		"print a configuration file with only this entry, and write nothing")
	c.Flags().BoolVar(&flags.link, "link", false,
		"print a link that adds the server to the client, and write nothing (Cursor, VS Code)")
	c.Flags().BoolVar(&flags.replace, "replace", false,
		"also switch off the client's own file and command tools; uninstall switches them on again")
	c.Flags().BoolVar(&flags.search, "search-tools", false,
		"offer a tool search instead of the tool list: for many tools, or for clients that read the list only once")
	c.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	c.MarkFlagsMutuallyExclusive("print", "link", "json")
	a.toolsetFlag(c)
	return c
}

func (a *app) uninstallCommand() *cobra.Command {
	var flags clientFlags
	c := &cobra.Command{
		Use:   "uninstall CLIENT",
		Short: "Remove toolhost from an MCP client's configuration",
		Example: `  toolhost uninstall cursor
  toolhost uninstall vscode --project`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: clientIDs(),
		RunE:      func(_ *cobra.Command, args []string) error { return a.uninstall(args[0], flags) },
	}
	a.registerClientFlags(c, &flags)
	return c
}

func (a *app) registerClientFlags(c *cobra.Command, flags *clientFlags) {
	c.Flags().StringVar(&flags.name, "name", "toolhost", "the server's name in the client")
	c.Flags().BoolVar(&flags.project, "project", false,
		"change the project's configuration file, which everyone on the project shares, instead of yours")
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
	own, err := a.ownTools(client, file, flags)
	if err != nil {
		return err
	}
	if flags.json && client.Printed() {
		return usagef("Leave --json out: install prints what to add.", "the file of %s is not edited", client.Title)
	}
	if flags.print || flags.link || client.Printed() {
		return a.showEntry(client, file, server, flags.link)
	}
	change, err := client.Install(file, before, server)
	if err != nil {
		return err
	}
	if own != nil {
		if err := own.SwitchOff(); err != nil {
			return err
		}
		if change, err = a.installAgain(client, file, server); err != nil {
			return err
		}
	}
	done := installedServer{Client: client.ID, File: file, Server: flags.name, Change: "none",
		Command: append([]string{server.Command}, server.Args...)}
	if change.Changed() {
		if err := change.Write(); err != nil {
			return err
		}
		done.Change, done.After, done.Backup = "wrote", client.After(flags.name, flags.project), backupOf(change)
		if change.Existed {
			done.Change = "repaired"
		}
	}
	switch {
	case flags.json:
		if err := writeIndented(a.out, done); err != nil {
			return err
		}
	case done.Change == "none":
		fmt.Fprintf(a.out, "%s has the server %s already, as it should be: %s\n", client.Title, flags.name, file)
	default:
		fmt.Fprintf(a.out, "%s %s the server %s in %s: %s\n", a.painter.green("✓"), done.Change, flags.name, file,
			strings.Join(done.Command, " "))
		a.tellBackup(done.Backup)
		fmt.Fprintln(a.out, "  "+done.After)
	}
	if done.Change == "none" {
		return nil
	}
	if found.standing != nil && len(found.standing.Config.Servers) > 0 {
		a.fillCache()
	}
	if !flags.json {
		a.measureList(context.Background(), flags)
	}
	return nil
}

func (a *app) installAgain(
	client *clientconfig.Client, file string, server clientconfig.Server,
) (*clientconfig.Change, error) {
	text, err := clientconfig.Read(file)
	if err != nil {
		return nil, err
	}
	return client.Install(file, text, server)
}

// ownTools returns the client's own tools to turn off, after saying so; or nil.
func (a *app) ownTools(
	client *clientconfig.Client, file string, flags clientFlags,
) (*clientconfig.OwnTools, error) {
	if !flags.replace {
		return nil, nil
	}
	own, err := a.settingOf(client, file, flags.project)
	if err != nil {
		return nil, usage(err)
	}
	fmt.Fprintf(a.err, "Switches off %s's own %s: %s in %s\n", client.Title, strings.Join(own.Names, ", "), own.Setting,
		own.File)
	return own, nil
}

func (a *app) settingOf(client *clientconfig.Client, file string, project bool) (*clientconfig.OwnTools, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, usagef("Set HOME.", "there is no home directory: %v", err)
	}
	dir := ""
	if project {
		if dir, err = a.projectDir(); err != nil {
			return nil, err
		}
	}
	own, err := client.OwnTools(clientconfig.Machine{OS: runtime.GOOS, Home: home, Env: os.Getenv}, dir, file)
	if err == nil && project {
		err = withoutLinks(dir, own.File)
	}
	return own, err
}

// showEntry prints what install would write, as a file or as a link.
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
	if client.Printed() {
		fmt.Fprintf(a.err, "toolhost does not edit YAML. Add this to %s:\n", file)
	} else {
		fmt.Fprintf(a.err, "For %s:\n", file)
	}
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
	if own, err := a.settingOf(client, file, flags.project); err == nil {
		done, err := own.SwitchOn()
		if err != nil {
			return err
		}
		if done {
			fmt.Fprintf(a.out, "%s switched %s's own tools on again: %s\n", a.painter.green("✓"), client.Title, own.File)
			if before, err = clientconfig.Read(file); err != nil {
				return err
			}
		}
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
	if change.After == nil {
		fmt.Fprintf(a.out, "%s removed %s, which had only the server %s\n", a.painter.green("✓"), file, flags.name)
	} else {
		fmt.Fprintf(a.out, "%s took the server %s out of %s\n", a.painter.green("✓"), flags.name, file)
	}
	a.tellBackup(backupOf(change))
	return nil
}

// backupOf returns the backup of a change, "" if there was no file.
func backupOf(change *clientconfig.Change) string {
	if change.Before == nil {
		return ""
	}
	return change.File + clientconfig.BackupSuffix
}

func (a *app) tellBackup(backup string) {
	if backup != "" {
		fmt.Fprintf(a.out, "  The file as it was is %s.\n", backup)
	}
}

func (a *app) clientFile(client *clientconfig.Client, flags clientFlags) (file string, text []byte, err error) {
	if flags.project {
		dir, err := a.projectDir()
		if err != nil {
			return "", nil, err
		}
		if file, err = client.ProjectFile(dir); err != nil {
			return "", nil, usage(err)
		}
		if err := withoutLinks(dir, file); err != nil {
			return "", nil, err
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

// withoutLinks refuses a project's file that a symlink leads elsewhere.
func withoutLinks(dir, file string) error {
	rel, err := filepath.Rel(dir, file)
	if err != nil {
		return err
	}
	root, err := realpath.Of(dir)
	if err != nil {
		return err
	}
	if leads, err := realpath.Of(file); err != nil || leads != filepath.Join(root, rel) {
		return usagef("Remove the link, or leave --project out.", "%s is, or lies behind, a symbolic link", file)
	}
	return nil
}

func (a *app) clientServer(client *clientconfig.Client, flags clientFlags) (clientconfig.Server, error) {
	server := clientconfig.Server{Name: flags.name, Args: []string{"serve"}}
	if flags.name == "" {
		return server, usagef("Give one.", "--name is empty")
	}
	var err error
	if server.Command, err = ownCommand(flags.project); err != nil {
		return server, err
	}
	if strings.Contains(server.Command, "/_npx/") {
		return server, usagef("Install it first: npm install -g @toolhost/toolhost",
			"%s lies in npm's cache, which is emptied now and then", server.Command)
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
	if flags.search {
		server.Args = append(server.Args, "--search-tools")
	}
	return server, nil
}

// clientWorkspace returns the workspace to name in the entry, "" if the client starts servers in the
// right place.
func (a *app) clientWorkspace(client *clientconfig.Client, flags clientFlags) (string, error) {
	named := a.flags.workspace != "" && !flags.project
	switch {
	case named:
	case client.StartsInProject:
		return "", nil
	case client.ProjectArg != "" && (flags.project || client.ProjectArgForUser):
		return client.ProjectArg, nil
	}
	dir, err := a.projectDir()
	if err != nil {
		return "", err
	}
	if why := agentfile.NoProject(dir); why != "" {
		return "", usagef("Run it in a project, or name one with --workspace.",
			"%s is not written as the workspace of %s: %s", dir, client.Title, why)
	}
	return dir, nil
}

func (a *app) projectDir() (string, error) {
	if a.flags.workspace != "" {
		return filepath.Abs(a.flags.workspace)
	}
	if path, ok := config.Find("."); ok {
		return filepath.Abs(filepath.Dir(path))
	}
	return filepath.Abs(".")
}

// ownCommand returns how a client starts this program. In a shared file it is only the name, if PATH
// leads to it.
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

// fillWait bounds the wait for a project's servers when a client is set up.
const fillWait = 30 * time.Second

// fillCache connects once to the project's MCP servers, so that a client's first list has their tools.
// Errors are reported when the tools are used.
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
		servers.Load(ctx, "")
		p.TakeOver(ctx)
	}
}
