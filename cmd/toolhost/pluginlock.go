package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/versions"
	"github.com/toolhost/toolhost/plugins"
	"github.com/toolhost/toolhost/plugins/install"
)

// resolver finds the programs of plugins: what the lock file pins, and what is
// installed.
type resolver struct {
	lock  *config.Lock
	store *install.Store
}

// newResolver reads the lock file beside an agent.hcl. Without plugins it
// reads nothing.
func (a *app) newResolver(cfg *config.Config) (*resolver, error) {
	r := &resolver{lock: new(config.Lock)}
	if len(cfg.Plugins) == 0 {
		return r, nil
	}
	if dir, err := install.Dir(); err == nil {
		r.store = install.OpenStore(dir)
	}
	lock, diags := config.ReadLock(config.LockPath(cfg.Path))
	if diags.HasErrors() {
		return nil, a.report(diags)
	}
	r.lock = lock
	return r, nil
}

// resolve sets the program and its checksum, or what keeps it from being used.
func (r *resolver) resolve(c config.Plugin, spec *plugins.Spec) {
	locked := r.lock.Find(c.Name)
	if c.Installed() {
		found, err := r.installed(c, locked)
		if err != nil {
			spec.Path, spec.Problem = "", tool.AsError(err)
			return
		}
		spec.Path = found.Path()
		if spec.SHA256 == "" {
			spec.SHA256 = found.SHA256
		}
	}
	if locked == nil || c.SHA256 != "" {
		return
	}
	spec.SHA256 = locked.SHA256[install.Platform()]
	if spec.SHA256 == "" {
		spec.Problem = tool.Errorf(tool.Blocked, "plugin %s is locked, but %s has no checksum of it for %s", c.Name, config.LockName, install.Platform()).
			Suggest("Run toolhost plugin lock %s here, and look at the change.", c.Name)
	}
}

// installed finds the version of an installed plugin that a project uses.
func (r *resolver) installed(c config.Plugin, locked *config.LockedPlugin) (*install.Installed, error) {
	if r.store == nil {
		return nil, tool.Errorf(tool.Unavailable, "plugin %s cannot be found: there is no place for installed plugins", c.Name).Suggest("Set HOME or XDG_DATA_HOME.")
	}
	wanted, err := versions.Parse(c.Version)
	if err != nil {
		return nil, err
	}
	if locked != nil {
		if !wanted.Allows(locked.Version) {
			return nil, tool.Errorf(tool.Conflict, "plugin %s is locked at %s, and agent.hcl wants %s", c.Name, locked.Version, c.Version).
				Suggest("Run toolhost plugin update %s.", c.Name)
		}
		return r.store.Find(c.Source, locked.Version)
	}
	version := wanted.Newest(r.store.Versions(c.Source))
	if version == "" {
		return nil, tool.Errorf(tool.NotFound, "plugin %s is not installed%s", c.Source, and(c.Version)).
			Suggest("Run toolhost plugin install with the path or address of it.")
	}
	return r.store.Find(c.Source, version)
}

func and(constraint string) string {
	if constraint == "" {
		return ""
	}
	return " in a version " + constraint
}

// lockState is what the lock file says of a plugin, for listings.
func (r *resolver) lockState(c config.Plugin) string {
	switch locked := r.lock.Find(c.Name); {
	case locked != nil && locked.Version != "":
		return "locked at " + locked.Version
	case locked != nil:
		return "locked"
	case c.SHA256 != "":
		return "pinned"
	}
	return "not locked"
}

// writeLock writes the lock file beside an agent.hcl, if it changes.
func writeLock(configPath string, lock *config.Lock) error {
	path := config.LockPath(configPath)
	data := lock.Bytes()
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return nil
	}
	if err := replaceFile(path, data); err != nil {
		return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", path, err).Suggest("Make room and the directory writable.")
	}
	return nil
}

// lockEntry pins an installed plugin. The checksums of other platforms stay
// while version and origin do.
func lockEntry(name string, found *install.Installed, constraint, from string, old *config.LockedPlugin) config.LockedPlugin {
	entry := config.LockedPlugin{
		Name: name, Version: found.Version, Constraint: constraint, From: from, Key: found.Signature.Key,
		SHA256: make(map[string]string),
	}
	if old != nil && old.Version == entry.Version && old.From == entry.From {
		entry.SHA256 = old.SHA256
		if entry.Key == "" {
			entry.Key = old.Key
		}
	}
	entry.SHA256[install.Platform()] = found.SHA256
	return entry
}

// portable is where a plugin came from, as a lock file keeps it: a path within
// the project is relative to it.
func portable(from, configPath string) string {
	dir, err := filepath.Abs(filepath.Dir(configPath))
	if err != nil || isAddress(from) {
		return from
	}
	absolute, err := filepath.Abs(from)
	if err != nil {
		return from
	}
	if rel, err := filepath.Rel(dir, absolute); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(rel)
	}
	return absolute
}

// origin is the opposite of portable.
func origin(from, configPath string) string {
	if isAddress(from) || filepath.IsAbs(from) {
		return from
	}
	return filepath.Join(filepath.Dir(configPath), from)
}

func isAddress(source string) bool {
	return len(source) > 8 && source[:8] == "https://"
}

// ownConfig is the project's agent.hcl for commands that change it or its lock,
// approved or not. The path need not exist yet.
func (a *app) ownConfig() (*config.Config, string, error) {
	path, err := a.configPath()
	if err != nil {
		return nil, "", err
	}
	if path == "" {
		return new(config.Config), filepath.Join(firstOf(a.flags.workspace, "."), config.FileName), nil
	}
	cfg, err := a.readConfigFile(path)
	return cfg, path, err
}

// note tells the user something beside the result.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
