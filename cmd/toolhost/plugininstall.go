package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/source/pluginlock"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/install"
	"github.com/toolhost/toolhost/internal/versions"
	"github.com/toolhost/toolhost/plugins/sdk"
)

type installFlags struct {
	version, sha256, key string
	noAdd, skipTests     bool
}

func (a *app) pluginInstallCommand() *cobra.Command {
	var flags installFlags
	c := &cobra.Command{
		Use:   "install [SOURCE]",
		Short: "Install a plugin for this user, and declare and lock it in this project",
		Long: `Install a plugin for this user, and declare and lock it in this project.

A source is one of these:
  a program
  a directory with a program
  a Go module, which is tested and built
  a directory with several versions, as VERSION/OS_ARCH
  an archive (.tar.gz, .tgz, .zip)
  the https address of an archive, in which {version}, {os} and {arch} are filled in

Before it is kept, the program is run once, confined, to say what it offers.

Without a source, the plugins that agent.lock.hcl names are installed from the
sources named there, and their checksums must match.`,
		Example: `  toolhost plugin install ./hello
  toolhost plugin install weather_1.2.0_linux_amd64.tar.gz --key weather.pub
  toolhost plugin install 'https://example.org/weather_{version}_{os}_{arch}.tar.gz' --version '~> 1.2'
  toolhost plugin install`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.installLocked(c.Context(), flags)
			}
			return a.installOne(c.Context(), args[0], flags)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.version, "version", "", `a constraint on the version, such as "~> 1.2"`)
	f.StringVar(&flags.sha256, "sha256", "", "the checksum that the archive or program must have")
	f.StringVar(&flags.key, "key", "", "the minisign public key that the signature must match, or a file with it")
	f.BoolVar(&flags.noAdd, "no-add", false, "leave agent.hcl and agent.lock.hcl alone")
	f.BoolVar(&flags.skipTests, "skip-tests", false, "do not run the tests of a Go module")
	return c
}

func (a *app) newInstaller(cfg *config.Config) (*install.Installer, error) {
	dir, err := install.Dir()
	if err != nil {
		return nil, err
	}
	client, err := netguard.New(netguard.Options{Allow: cfg.Web.Allow, Timeout: cfg.Web.Timeout})
	if err != nil {
		return nil, usage(err)
	}
	return &install.Installer{
		Store: install.OpenStore(dir), Client: client, Inspect: a.inspect, Confine: project.ConfineBuild,
		Say: func(step string) { fmt.Fprintln(a.err, a.painter.dim(show.Line(step)+" ...")) },
	}, nil
}

// inspect describes a program, confined and in an empty workspace.
func (a *app) inspect(ctx context.Context, program string) (*plugins.Description, error) {
	workspace, err := os.MkdirTemp("", "toolhost-inspect-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(workspace)
	manager := plugins.NewManager(plugins.Options{
		Logger: a.logger, Workspace: sdk.Workspace{Root: workspace}, HostVersion: version(),
		Prepare: func(l plugins.Launch) error { return project.ConfineInspection(l, workspace) },
	})
	defer manager.Close()
	return manager.Inspect(ctx, program)
}

func (a *app) installOne(ctx context.Context, source string, flags installFlags) error {
	cfg, path, err := a.ownConfig()
	if err != nil {
		return err
	}
	request, err := flags.request(source)
	if err != nil {
		return usage(err)
	}
	in, err := a.newInstaller(cfg)
	if err != nil {
		return err
	}
	if flags.version == "" && !flags.noAdd {
		request.Floor = lockedVersions(cfg, path)
	}
	found, err := in.Install(ctx, request)
	if err != nil {
		return err
	}
	a.showInstalled(found)
	if flags.noAdd {
		return nil
	}
	return a.declare(cfg, path, found, flags.version)
}

func (f installFlags) request(source string) (install.Request, error) {
	r := install.Request{Source: source, SHA256: f.sha256, SkipTests: f.skipTests}
	var err error
	if r.Constraint, err = versions.Parse(f.version); err != nil {
		return r, tool.Errorf(tool.InvalidArgument, "--version: %w",
			err).Suggest(`Write "1.2.3", "~> 1.2" or ">= 1.2, < 2".`)
	}
	if strings.Contains(source, "{version}") {
		r.Version = f.version
	}
	r.Key, err = install.ParseKey(f.key)
	return r, err
}

// showInstalled shows an installed plugin before its use.
func (a *app) showInstalled(found *install.Installed) {
	d := found.Description
	fmt.Fprintf(a.out, "Installed %s %s (%s).\n", a.painter.bold(show.Line(found.Name)), show.Line(found.Version),
		show.Line(found.Signature.String()))
	fmt.Fprintf(a.out, "  asks for: %s\n", cmp.Or(joinPermissions(asked(d.Tools)), "nothing"))
	if len(d.Services) > 0 {
		fmt.Fprintf(a.out, "  services: %s\n", show.Line(strings.Join(d.Services, ", ")))
	}
	for _, def := range d.Tools {
		fmt.Fprintf(a.out, "  %s (%s): %s\n", show.Line(def.Name), def.Risk, summary(def.Description))
	}
	a.noteUnlocked(found)
}

func (a *app) listInstalled(asJSON bool) error {
	dir, err := install.Dir()
	if err != nil {
		return err
	}
	all := install.OpenStore(dir).List()
	if asJSON {
		return writeIndented(a.out, append([]install.Installed{}, all...))
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tSIGNATURE\tFROM")
	for _, i := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Name, i.Version, i.Signature.State, i.From)
	}
	return w.Flush()
}

// declare adds a plugin to agent.hcl, unless present, and to the lock.
func (a *app) declare(cfg *config.Config, path string, found *install.Installed, constraint string) error {
	lock, diags := pluginlock.Open(path)
	if diags.HasErrors() {
		return a.report(diags)
	}
	declared := false
	for _, c := range cfg.Plugins {
		switch {
		case c.Name == found.Name && !c.Installed():
			a.printNotice("%s: plugin %q runs %s there, not the one that was installed.", c.Pos, c.Name, c.Source)
			return nil
		case c.Source == found.Name && c.Installed():
			declared = true
			lock.Set(c.Name, found, c.Version)
		}
	}
	if !declared {
		if err := a.addBlock(cfg, path, found.Name, constraint); err != nil {
			return err
		}
		lock.Set(found.Name, found, constraint)
	}
	return lock.Write()
}

// addBlock declares a plugin. A file that was approved, or did not exist, is then approved: the change
// is the user's own.
func (a *app) addBlock(cfg *config.Config, path, name, constraint string) error {
	old, err := plainfile.Read(path, 1<<30)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	text := config.AddPlugin(old, name, name, constraint)
	approved := len(bytes.TrimSpace(old)) == 0 || a.approved(cfg)
	if err := writeUserFile(path, text); err != nil {
		return notWritten(path, err, "Make it writable, or use --no-add.")
	}
	if approved {
		a.approveOwn(path, text)
	}
	fmt.Fprintf(a.out, "Added plugin %q to %s.\n", name, path)
	return nil
}

// approvedText is approved for a file with that content.
func (a *app) approvedText(path string, text []byte) bool {
	vars, err := a.variables()
	if err != nil {
		return false
	}
	cfg, diags := config.Parse(path, text, config.LoadOptions{Vars: vars})
	return !diags.HasErrors() && a.approved(cfg)
}

// approved reports whether a file is approved as it is, beyond this run.
func (a *app) approved(cfg *config.Config) bool {
	cfg.Judge()
	store, err := a.trustStore(cfg)
	return err == nil && agentfile.Holds(store, cfg)
}

func lockedVersions(cfg *config.Config, path string) func(name string) string {
	return func(name string) string {
		lock, diags := pluginlock.Open(path)
		if diags.HasErrors() {
			return "" // declaring it reports that
		}
		for _, c := range cfg.Plugins {
			if entry := lock.Entry(c.Name); c.Source == name && c.Installed() && entry != nil {
				return entry.Version
			}
		}
		return ""
	}
}

// mayInstall refuses to install what an unapproved file names: a repository would choose what is built
// and run.
func (a *app) mayInstall(cfg *config.Config, lock *pluginlock.Lock, list []config.Plugin) error {
	if len(list) == 0 || a.flags.config != "" || a.flags.trust || os.Getenv("TOOLHOST_TRUST") == "1" ||
		a.approved(cfg) {
		return nil
	}
	var named []string
	for _, c := range list {
		from := "from nowhere that is known"
		if entry := lock.Entry(c.Name); entry != nil && entry.From != "" {
			from = "from " + entry.From
		}
		named = append(named, show.Line(c.Name+" "+from))
	}
	return usagef("Look at it with toolhost trust --show and at those sources, approve it with toolhost trust, and do this again.",
		"%s is not approved, and it names what would be installed and run: %s", cfg.Path, strings.Join(named, ", "))
}

// installLocked installs missing plugins of the lock file.
func (a *app) installLocked(ctx context.Context, flags installFlags) error {
	cfg, _, err := a.ownConfig()
	if err != nil {
		return err
	}
	in, err := a.newInstaller(cfg)
	if err != nil {
		return err
	}
	lock, err := a.openLock(cfg)
	if err != nil {
		return err
	}
	if err := a.mayInstall(cfg, lock, cfg.Plugins); err != nil {
		return err
	}
	for _, c := range cfg.Plugins {
		if !c.Installed() {
			continue
		}
		locked := lock.Entry(c.Name)
		old, err := lock.Installed(c)
		if err == nil {
			if err = old.Verify(); err == nil && locked != nil {
				_, err = lock.Verify(c)
			}
			if err == nil {
				fmt.Fprintf(a.out, "%s is installed.\n", c.Name)
				continue
			}
			a.printNotice("%s", tool.AsError(err).Message)
		}
		if locked == nil || locked.From == "" {
			return usagef("Run toolhost plugin install SOURCE once; then the lock file knows.",
				"nothing says where plugin %s comes from", c.Name)
		}
		found, err := in.Install(ctx, install.Request{
			Source: lock.Origin(locked), Version: locked.Version, Key: locked.Key, Name: c.Source,
			Program: locked.SHA256[install.Platform()], SkipTests: flags.skipTests,
		})
		if err != nil {
			return err
		}
		a.showInstalled(found)
	}
	return nil
}
