package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/source/pluginlock"
	"github.com/toolhost/toolhost/internal/source/plugins/install"
	"github.com/toolhost/toolhost/internal/versions"
)

// owned is what commands about the lock work on.
type owned struct {
	cfg  *config.Config
	path string
	lock *pluginlock.Lock
}

func (a *app) owned() (*owned, error) {
	cfg, path, err := a.ownConfig()
	if err != nil {
		return nil, err
	}
	if cfg.Path == "" {
		return nil, usagef("Run toolhost plugin install SOURCE.",
			"there is no agent.hcl here or above, so there are no plugins")
	}
	lock, err := a.openLock(cfg)
	return &owned{cfg, path, lock}, err
}

func (a *app) openLock(cfg *config.Config) (*pluginlock.Lock, error) {
	lock, diags := pluginlock.For(cfg)
	if diags.HasErrors() {
		return nil, a.report(diags)
	}
	return lock, nil
}

// chosen returns the plugins of those names, or all if there are none.
func (o *owned) chosen(names []string) ([]config.Plugin, error) {
	if len(names) == 0 {
		return o.cfg.Plugins, nil
	}
	var list []config.Plugin
	for _, name := range names {
		i := slices.IndexFunc(o.cfg.Plugins, func(c config.Plugin) bool { return c.Name == name })
		if i < 0 {
			return nil, usagef("toolhost plugin list names them all.", "there is no plugin %q in %s", name, o.path)
		}
		list = append(list, o.cfg.Plugins[i])
	}
	return list, nil
}

func (a *app) pluginUpdateCommand() *cobra.Command {
	var flags updateFlags
	c := &cobra.Command{
		Use:   "update [NAME...]",
		Short: "Install the newest versions that agent.hcl allows, and lock them",
		Long: `Install the newest versions that agent.hcl allows, and lock them.

A plugin is fetched from its previous source. The new version must be signed by the
same key as before. Changes of its tools are shown. A different program under the
locked version needs your confirmation.`,
		Example: `  toolhost plugin update
  toolhost plugin update weather --version 1.3.0`,
		ValidArgsFunction: a.completeDeclared(pluginNames),
		RunE: func(c *cobra.Command,
			args []string) error {
			return a.update(c.Context(), args, flags)
		},
	}
	c.Flags().StringVar(&flags.version, "version", "",
		"the version to install; required if the source address contains {version}")
	c.Flags().BoolVar(&flags.skipTests, "skip-tests", false, "do not run the tests of a Go module")
	c.Flags().BoolVar(&flags.yes, "yes", false, "accept a program that changed under the same version, without asking")
	return c
}

type updateFlags struct {
	version        string
	skipTests, yes bool
}

func (a *app) update(ctx context.Context, names []string, flags updateFlags) error {
	o, err := a.owned()
	if err != nil {
		return err
	}
	list, err := o.chosen(names)
	if err != nil {
		return err
	}
	if err := a.mayInstall(o.cfg, o.lock, list); err != nil {
		return err
	}
	in, err := a.newInstaller(o.cfg)
	if err != nil {
		return err
	}
	for _, c := range list {
		locked := o.lock.Entry(c.Name)
		switch {
		case !c.Installed():
			continue // toolhost plugin lock is for one's own programs
		case locked == nil || locked.From == "":
			return usagef("Run toolhost plugin install SOURCE.", "nothing says where plugin %s comes from", c.Name)
		case strings.Contains(locked.From, "{version}") && flags.version == "":
			return usagef("Name it with --version.", "the address of plugin %s has the version in it", c.Name)
		}
		wanted, err := versions.Parse(c.Version)
		if err != nil {
			return err
		}
		request := install.Request{
			Source: o.lock.Origin(locked), Version: flags.version, Constraint: wanted, Key: locked.Key, Name: c.Source,
			SkipTests: flags.skipTests,
			Agree:     func(m *install.Manifest) error { return a.agreeTo(ctx, o, c, m, flags.yes) },
		}
		if flags.version == "" {
			request.Floor = func(string) string { return locked.Version }
		}
		found, err := in.Install(ctx, request)
		if err != nil {
			return err
		}
		a.noteUnlocked(found)
		o.lock.Update(c.Name, found, c.Version)
	}
	return o.lock.Write()
}

func (a *app) pluginRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "remove NAME[@VERSION]",
		Short: "Remove a plugin installed for this user, in all versions or in one",
		Example: `  toolhost plugin remove weather
  toolhost plugin remove weather@1.2.0`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name, version, _ := strings.Cut(args[0], "@")
			dir, err := install.Dir()
			if err != nil {
				return err
			}
			removed, err := install.OpenStore(dir).Remove(name, version)
			if err != nil {
				return usage(err)
			}
			for _, v := range removed {
				fmt.Fprintf(a.out, "Removed %s %s.\n", name, v)
			}
			cfg, path, err := a.ownConfig()
			if err != nil {
				return err
			}
			for _, c := range cfg.Plugins {
				if c.Installed() && c.Source == name {
					a.printNotice("%s still declares it, at %s.", path, c.Pos)
				}
			}
			return nil
		},
	}
	return c
}

func (a *app) pluginLockCommand() *cobra.Command {
	var platforms []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "lock [NAME...]",
		Short: "Write the versions and checksums of this project's plugins into agent.lock.hcl",
		Long: `Write the versions and checksums of this project's plugins into agent.lock.hcl.

From then on only those programs are run. With --platform the checksums for another
platform are added, if a plugin's source has a program for it; that one is not run.`,
		Example: `  toolhost plugin lock
  toolhost plugin lock weather --platform darwin_arm64`,
		ValidArgsFunction: a.completeDeclared(pluginNames),
		RunE:              func(c *cobra.Command, args []string) error { return a.lock(c.Context(), args, platforms, asJSON) },
	}
	c.Flags().StringArrayVar(&platforms, "platform", nil,
		"also lock for this platform: OS_ARCH, such as darwin_arm64 (repeatable)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// lockedPlugin is a plugin in the JSON output of toolhost plugin lock, with its checksums by platform.
type lockedPlugin struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	SHA256  map[string]string `json:"sha256"`
}

func (a *app) lock(ctx context.Context, names, platforms []string, asJSON bool) error {
	o, err := a.owned()
	if err != nil {
		return err
	}
	list, err := o.chosen(names)
	if err != nil {
		return err
	}
	in, err := a.newInstaller(o.cfg)
	if err != nil {
		return err
	}
	all := []lockedPlugin{}
	for _, c := range list {
		entry, err := o.pin(ctx, in, c, platforms)
		if err != nil {
			return err
		}
		all = append(all, lockedPlugin{c.Name, entry.Version, entry.SHA256})
	}
	o.lock.Keep(o.cfg.Plugins)
	if err := o.lock.Write(); err != nil {
		return err
	}
	if asJSON {
		return writeIndented(a.out, all)
	}
	for _, one := range all {
		fmt.Fprintf(a.out, "%s %s %s\n", one.Name, one.Version, one.SHA256[install.Platform()])
	}
	return nil
}

// pin locks a plugin's present program, for further platforms too.
func (o *owned) pin(ctx context.Context, in *install.Installer, c config.Plugin,
	platforms []string) (config.LockedPlugin, error) {
	entry, found, err := o.lock.Pin(c)
	if err != nil || found == nil || len(platforms) == 0 {
		return entry, err
	}
	sums, err := in.Checksums(ctx, found.From, found.Version, found.Program, platforms)
	maps.Copy(entry.SHA256, sums)
	return entry, err
}

type verified struct {
	Name      string             `json:"name"`
	OK        bool               `json:"ok"`
	Detail    string             `json:"detail"`
	Next      string             `json:"next,omitempty"`
	Signature *install.Signature `json:"signature,omitempty"`
}

func (a *app) pluginVerifyCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "Check that this project's plugins are installed exactly as agent.lock.hcl says",
		Long: `Check that this project's plugins are installed exactly as agent.lock.hcl says.

The exit code is 0 if every plugin is locked and every program is the locked one.`,
		Example:           `  toolhost plugin verify`,
		ValidArgsFunction: a.completeDeclared(pluginNames),
		RunE:              func(_ *cobra.Command, args []string) error { return a.verify(args, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) verify(names []string, asJSON bool) error {
	o, err := a.owned()
	if err != nil {
		return err
	}
	list, err := o.chosen(names)
	if err != nil {
		return err
	}
	all, ok := []verified{}, true
	for _, c := range list {
		v := o.verify(c)
		all, ok = append(all, v), ok && v.OK
	}
	if asJSON {
		err = writeIndented(a.out, all)
	} else {
		a.showVerified(all)
	}
	if err == nil && !ok {
		err = &exitError{code: exitFailed}
	}
	return err
}

func (a *app) showVerified(all []verified) {
	for _, v := range all {
		mark := a.painter.green("✓")
		if !v.OK {
			mark = a.painter.red("✗")
		}
		fmt.Fprintf(a.out, "%s %s: %s\n", mark, show.Line(v.Name), show.Line(v.Detail))
		if v.Next != "" {
			fmt.Fprintf(a.out, "  %s\n", v.Next)
		}
	}
}

func (o *owned) verify(c config.Plugin) verified {
	v := verified{Name: c.Name}
	var err error
	if v.Signature, err = o.lock.Verify(c); err != nil {
		e := tool.AsError(err)
		v.Detail, v.Next = e.Message, e.Suggestion
		return v
	}
	v.OK, v.Detail = true, "as locked"
	if v.Signature != nil {
		v.Detail += "; " + v.Signature.String()
	}
	return v
}

// ownConfig returns the project's agent.hcl for commands that change it or its lock, approved or not.
// The path need not exist.
func (a *app) ownConfig() (*config.Config, string, error) {
	path, err := a.configPath()
	if err != nil {
		return nil, "", err
	}
	if path == "" {
		return new(config.Config), filepath.Join(cmp.Or(a.flags.workspace, "."), config.FileName), nil
	}
	cfg, err := a.readConfigFile(path)
	return cfg, path, err
}

func (a *app) printNotice(format string, args ...any) {
	fmt.Fprintf(a.err, "%s\n", show.Line(fmt.Sprintf(format, args...)))
}
