// Package userdir locates toolhost's private files: approvals, rules, logins and keys in the user's
// configuration; the record, undo, todos and background tasks in the user's state. Neither is used where tools
// could write or read it.
package userdir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/homedir"
	"github.com/toolhost/toolhost/internal/file/realpath"
)

// Dir returns a directory of the user's configuration, which need not exist; what is its purpose, in messages
// ("approvals"). One written by a newer toolhost is refused.
func Dir(what, name string) (string, error) {
	dir, err := configHome()
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "there is no place for %s: %w", what, err).
			Suggest("Set HOME (or XDG_CONFIG_HOME).")
	}
	return filepath.Join(dir, name), Usable()
}

// configHome returns toolhost's directory in the user's configuration.
func configHome() (string, error) {
	base, err := os.UserConfigDir()
	return filepath.Join(base, "toolhost"), err
}

// Outside refuses a directory that lies in any tree that tools may use, with symlinks resolved.
func Outside(what, dir string, trees ...string) error {
	return outside(what, dir, "XDG_CONFIG_HOME", trees)
}

func outside(what, dir, variable string, trees []string) error {
	for _, tree := range trees {
		if realpath.Within(dir, tree) {
			return tool.Errorf(tool.Unavailable, "%s cannot be kept in %s: it lies in %s, where tools could use it",
				what, dir, tree).
				Suggest("Set %s to a directory outside the workspace and what workspace.allow names.", variable)
		}
	}
	return nil
}

// State returns the host's state directory of the workspace at root. It need not exist: writers make it,
// private to the user. It is refused if it lies in the workspace or another tree of tools, if others can write
// to it, or if it cannot be made. A tree that contains the whole home directory cannot come with a repository,
// and what is Private in it is out of tools' reach.
func State(root string, trees ...string) (string, error) {
	const what = "the state of the workspace"
	home, err := stateHome()
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "there is no place for %s: %w", what, err).
			Suggest("Set HOME (or XDG_STATE_HOME).")
	}
	real, err := realpath.Of(root)
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "there is no place for %s: %w", what, err).
			Suggest("Check the path of the workspace.")
	}
	dir := filepath.Join(home, workspaceID(real))
	trees = slices.DeleteFunc(append([]string{root}, trees...), func(tree string) bool { return holdsHome(tree, home) })
	if err := outside(what, home, "XDG_STATE_HOME", trees); err != nil {
		return "", err
	}
	if err := usable(home, dir); err != nil {
		return "", err
	}
	return dir, Known("the state of the workspace", dir, StateFormat)
}

// States returns the existing state directories, one of each workspace.
func States() (dirs []string, err error) {
	home, err := stateHome()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if dir := filepath.Join(home, entry.Name()); entry.IsDir() && usable(home, dir) == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs, err
}

// Watched returns a file whose time says that a person watches the waiting calls. It lies where no tool can
// write.
func Watched() (string, error) {
	home, err := stateHome()
	return filepath.Join(home, "watched"), err
}

// holdsHome reports whether a tree contains the user's whole home directory, with toolhost's state in it.
func holdsHome(tree, state string) bool {
	return slices.ContainsFunc(homedir.All(), func(home string) bool {
		return realpath.Within(home, tree) && realpath.Within(state, home)
	})
}

// usable refuses directories that others can change, and those that the user cannot write to or make.
func usable(home, dir string) error {
	for _, d := range []string{home, dir} {
		info, err := os.Lstat(d)
		if err == nil && (!info.IsDir() || othersWrite(info)) {
			return tool.Errorf(tool.Blocked, "%s is not a directory that only you may write to", d).
				Suggest("Remove it, or give it to yourself with mode 0700.")
		}
	}
	nearest := dir
	for {
		if _, err := os.Stat(nearest); err == nil || nearest == filepath.Dir(nearest) {
			break
		}
		nearest = filepath.Dir(nearest)
	}
	if err := writable(nearest); err != nil {
		return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", nearest, err).
			Suggest("Make it writable, or set XDG_STATE_HOME to a directory that you may write to.")
	}
	return nil
}

// stateHome returns toolhost's directory in the user's state.
func stateHome() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if filepath.IsAbs(base) {
		return filepath.Join(base, "toolhost"), nil
	}
	var err error
	switch runtime.GOOS {
	case "darwin", "ios":
		base, err = os.UserConfigDir()
		return filepath.Join(base, "toolhost", "state"), err
	}
	base, err = os.UserHomeDir()
	if err == nil && !filepath.IsAbs(base) {
		err = os.ErrInvalid
	}
	return filepath.Join(base, ".local", "state", "toolhost"), err
}

// workspaceID names a workspace: its name, for people, and a digest of its path.
func workspaceID(real string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, strings.ToLower(filepath.Base(real)))
	sum := sha256.Sum256([]byte(real))
	return name[:min(len(name), 32)] + "-" + hex.EncodeToString(sum[:10])
}

// Cache returns a directory of toolhost's in the user's cache, "" if the user has none. It need not exist.
func Cache(name string) string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "toolhost", name)
}

// Data returns toolhost's directory in the user's data, with installed plugins.
func Data() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolhost"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "toolhost"), nil
	}
	return filepath.Join(home, ".local", "share", "toolhost"), nil
}

// Fleet returns the directory of a fleet's hub, with its keys. It is Private.
func Fleet() (string, error) {
	dir, err := stateHome()
	return filepath.Join(dir, "fleet"), err
}

// Console returns the directory of the file that leads the user's browser to a console. It is Private, and
// refused if others can write to it.
func Console() (string, error) {
	home, err := stateHome()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "console")
	return dir, usable(home, dir)
}

// Private returns toolhost's directories in the user's configuration, state and cache, of all workspaces, which
// no tool or confined command may read or change.
func Private() (dirs []string) {
	if dir := Cache(""); dir != "" {
		dirs = append(dirs, dir)
	}
	if dir, err := configHome(); err == nil {
		dirs = append(dirs, dir)
	}
	if dir, err := stateHome(); err == nil {
		dirs = append(dirs, dir)
	}
	return dirs
}
