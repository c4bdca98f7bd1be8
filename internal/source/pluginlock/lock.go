// Package pluginlock finds the programs of a project's plugins, from agent.lock.hcl and the user's installed
// plugins, and pins them.
package pluginlock

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/install"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/versions"
)

// Lock is a project's lock file with the user's installed plugins.
type Lock struct {
	configPath string
	file       *config.Lock
	store      *install.Store // nil if unavailable
	storeless  error          // why it is
	chosen     []string       // sources whose program changed
}

// For opens the lock of a configuration. Without plugins it reads nothing.
func For(cfg *config.Config) (*Lock, config.Diagnostics) {
	if len(cfg.Plugins) == 0 {
		return empty(cfg.Path), nil
	}
	return Open(cfg.Path)
}

// Open reads the lock file beside the agent.hcl at configPath. Neither file needs to exist.
func Open(configPath string) (*Lock, config.Diagnostics) {
	l := empty(configPath)
	file, diags := config.ReadLock(config.LockPath(configPath))
	if diags.HasErrors() {
		return nil, diags
	}
	l.file = file
	return l, nil
}

func empty(configPath string) *Lock {
	l := &Lock{configPath: configPath, file: new(config.Lock)}
	dir, err := install.Dir()
	if l.storeless = err; err == nil {
		l.store = install.OpenStore(dir)
	}
	return l
}

// Resolve sets path and checksum of a plugin's program in spec, or spec.Problem if the program must not or cannot
// run.
func (l *Lock) Resolve(c config.Plugin, spec *plugins.Spec) {
	locked := l.file.Find(c.Name)
	spec.Repair = "If you changed it, run toolhost plugin lock " + c.Name + "; if not, it may have been tampered with: install it again."
	if c.Installed() {
		found, err := l.Installed(c)
		if err != nil {
			spec.Path, spec.Problem = "", tool.AsError(err)
			return
		}
		spec.Path = found.Path()
		spec.Repair = "Run " + found.Again() + ", and find out what changed it."
		if locked != nil && locked.From != "" {
			spec.Repair = "Run toolhost plugin install, which takes the locked program from " +
				show.Word(l.Origin(locked)) + " again, and find out what changed this one."
		}
		if spec.SHA256 == "" {
			spec.SHA256 = found.SHA256
		}
	}
	if locked == nil || c.SHA256 != "" {
		return
	}
	spec.SHA256 = locked.SHA256[install.Platform()]
	if spec.SHA256 == "" {
		spec.Problem = tool.Errorf(tool.Blocked, "plugin %s is locked, but %s has no checksum of it for %s", c.Name,
			config.LockName, install.Platform()).
			Suggest("Run toolhost plugin lock %s here, and look at the change.", c.Name)
	}
}

// Installed returns the version of an installed plugin that the project uses. The error is a *tool.Error:
// not_found if it is not installed, conflict if agent.hcl does not allow the locked version.
func (l *Lock) Installed(c config.Plugin) (*install.Installed, error) {
	return l.installed(c, l.file.Find(c.Name))
}

// installed returns the locked version, or if locked is nil the newest that agent.hcl allows.
func (l *Lock) installed(c config.Plugin, locked *config.LockedPlugin) (*install.Installed, error) {
	if l.store == nil {
		why := tool.AsError(l.storeless)
		return nil, tool.Errorf(why.Code, "plugin %s cannot be found: %s", c.Name, why.Message).Suggest("%s",
			why.Suggestion)
	}
	wanted, err := versions.Parse(c.Version)
	if err != nil {
		return nil, err
	}
	if locked != nil {
		if !wanted.Allows(locked.Version) {
			return nil, tool.Errorf(tool.Conflict, "plugin %s is locked at %s, and agent.hcl wants %s", c.Name,
				locked.Version, c.Version).
				Suggest("Run toolhost plugin update %s.", c.Name)
		}
		return l.store.Find(c.Source, locked.Version)
	}
	version := wanted.Newest(l.store.Versions(c.Source))
	if version == "" {
		suffix := ""
		if c.Version != "" {
			suffix = " in a version " + c.Version
		}
		return nil, tool.Errorf(tool.NotFound, "plugin %s is not installed%s", c.Source, suffix).
			Suggest("Run toolhost plugin install with the path or address of it.")
	}
	return l.store.Find(c.Source, version)
}

// Entry returns the lock file's entry for a plugin, or nil.
func (l *Lock) Entry(name string) *config.LockedPlugin { return l.file.Find(name) }

// State describes whether a plugin's program is pinned.
func (l *Lock) State(c config.Plugin) string {
	switch locked := l.file.Find(c.Name); {
	case locked != nil && locked.Version != "":
		return "locked at " + locked.Version
	case locked != nil:
		return "locked"
	case c.SHA256 != "":
		return "pinned"
	}
	return "not locked"
}

// Set pins an installed plugin under its name and version constraint in agent.hcl.
func (l *Lock) Set(name string, found *install.Installed, constraint string) {
	l.set(name, found, constraint, l.portable(found.From))
}

// Update pins a new version of a locked plugin, with the same origin.
func (l *Lock) Update(name string, found *install.Installed, constraint string) {
	l.set(name, found, constraint, l.file.Find(name).From)
}

// set pins an installed plugin. Other platforms' checksums stay if version and origin are unchanged.
func (l *Lock) set(name string, found *install.Installed, constraint, from string) config.LockedPlugin {
	entry := config.LockedPlugin{
		Name: name, Version: found.Version, Constraint: constraint, From: from, Key: found.Signature.Key,
		SHA256: make(map[string]string),
	}
	if old := l.file.Find(name); old != nil && old.Version == entry.Version && old.From == entry.From {
		entry.SHA256 = maps.Clone(old.SHA256)
		if entry.Key == "" {
			entry.Key = old.Key
		}
	}
	entry.SHA256[install.Platform()] = found.SHA256
	l.setPlugin(entry)
	return entry
}

// Pin pins a plugin's present program. For an installed plugin, which is returned too, that is the locked
// version, or the newest that agent.hcl allows if that is missing or not allowed.
func (l *Lock) Pin(c config.Plugin) (config.LockedPlugin, *install.Installed, error) {
	if !c.Installed() {
		entry, err := l.pinProgram(c)
		return entry, nil, err
	}
	found, err := l.Installed(c)
	if tool.CodeOf(err) == tool.Conflict || tool.CodeOf(err) == tool.NotFound {
		found, err = l.installed(c, nil)
	}
	if err != nil {
		return config.LockedPlugin{}, nil, err
	}
	return l.set(c.Name, found, c.Version, l.portable(found.From)), found, nil
}

func (l *Lock) pinProgram(c config.Plugin) (config.LockedPlugin, error) {
	sum, err := plugins.Checksum(c.Source)
	if err != nil {
		return config.LockedPlugin{}, err
	}
	entry := config.LockedPlugin{Name: c.Name, SHA256: make(map[string]string)}
	if old := l.file.Find(c.Name); old != nil && old.Version == "" {
		entry.SHA256 = maps.Clone(old.SHA256)
	}
	entry.SHA256[install.Platform()] = sum
	l.setPlugin(entry)
	return entry, nil
}

// Verify compares a plugin's program with the lock, and an installed plugin with its manifest, whose signature it
// returns. The error says what differs.
func (l *Lock) Verify(c config.Plugin) (*install.Signature, error) {
	spec := plugins.Spec{Name: c.Name, Path: c.Source, SHA256: c.SHA256}
	l.Resolve(c, &spec)
	if spec.Problem != nil {
		return nil, spec.Problem
	}
	var signature *install.Signature
	if c.Installed() {
		found, err := l.Installed(c)
		if err != nil {
			return nil, err
		}
		signature = &found.Signature
		if err := found.Verify(); err != nil {
			return signature, tool.AsError(err).Suggest("%s", spec.Repair)
		}
	}
	if l.file.Find(c.Name) == nil && c.SHA256 == "" {
		return signature, tool.Errorf(tool.Unavailable, "is not locked").Suggest("Run toolhost plugin lock %s.", c.Name)
	}
	sum, err := plugins.Checksum(spec.Path)
	if err != nil {
		return signature, err
	}
	if !strings.EqualFold(sum, spec.SHA256) {
		return signature,
			tool.Errorf(tool.Blocked, "its SHA-256 is %s, and %s was locked", sum, strings.ToLower(spec.SHA256)).
				Suggest("%s", spec.Repair)
	}
	return signature, nil
}

// setPlugin locks a plugin's program. If it differs, the old one's tools are unpinned: the user chose another.
func (l *Lock) setPlugin(p config.LockedPlugin) {
	if old := l.file.Find(p.Name); old == nil || !maps.Equal(old.SHA256, p.SHA256) {
		l.file.Unpin("plugin " + p.Name)
		l.chosen = append(l.chosen, "plugin "+p.Name)
	}
	l.file.Set(p)
}

// Keep removes the entries of undeclared plugins.
func (l *Lock) Keep(declared []config.Plugin) {
	for _, old := range slices.Clone(l.file.Plugins) {
		if !slices.ContainsFunc(declared, func(c config.Plugin) bool { return c.Name == old.Name }) {
			l.file.Remove(old.Name)
		}
	}
}

// Write writes the lock file, if changed.
func (l *Lock) Write() error {
	if dir, err := pins.Dir(l.configPath); err == nil {
		for _, source := range l.chosen {
			_ = pins.Forget(dir, source) // a leftover only asks once too often
		}
	}
	return Save(config.LockPath(l.configPath), l.file)
}

// Save writes a lock file, if changed. A symlink is refused: it comes with the repository and may lead to any
// file of the user's.
func Save(path string, lock *config.Lock) error {
	mode, data := fs.FileMode(0o644), lock.Bytes()
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return tool.Errorf(tool.Blocked, "%s is a symbolic link or no file, and is not written",
				path).Suggest("Remove it, if you know who put it there.")
		}
		mode = info.Mode().Perm()
	}
	if old, err := plainfile.Read(path, int64(len(data))); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := atomicfile.Write(path, data, mode); err != nil {
		return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", path,
			err).Suggest("Make the directory writable.")
	}
	return nil
}

// portable returns a plugin's origin for the lock file: a path within the project becomes relative.
func (l *Lock) portable(from string) string {
	dir, err := filepath.Abs(filepath.Dir(l.configPath))
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

// Origin returns the source to install a locked plugin from, the inverse of portable.
func (l *Lock) Origin(locked *config.LockedPlugin) string {
	if isAddress(locked.From) || filepath.IsAbs(locked.From) {
		return locked.From
	}
	return filepath.Join(filepath.Dir(l.configPath), locked.From)
}

func isAddress(source string) bool {
	rest, ok := strings.CutPrefix(source, "https://")
	return ok && rest != ""
}
