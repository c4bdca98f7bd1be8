// Package userdir says where toolhost keeps what the user has decided and what
// nobody else may read: approvals, rules, logins and keys. It lies in the
// user's own configuration, and is not used where tools could write or read it.
package userdir

import (
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/realpath"
)

// Dir is the directory of toolhost's in the user's configuration in which what
// is kept, such as "approvals", lies under name. It need not exist.
func Dir(what, name string) (string, error) {
	base, err := os.UserConfigDir()
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "there is no place for %s: %w", what, err).
			Suggest("Set HOME (or XDG_CONFIG_HOME).")
	}
	return filepath.Join(base, "toolhost", name), nil
}

// Outside refuses a directory that lies in any tree that tools may use, wherever
// symlinks lead.
func Outside(what, dir string, trees ...string) error {
	for _, tree := range trees {
		if realpath.Within(dir, tree) {
			return tool.Errorf(tool.Unavailable, "%s cannot be kept in %s: it lies in %s, where tools could use it",
				what, dir, tree).
				Suggest("Set XDG_CONFIG_HOME to a directory outside the workspace and what workspace.allow names.")
		}
	}
	return nil
}
