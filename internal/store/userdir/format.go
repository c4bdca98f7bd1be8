package userdir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// The newest formats that this program reads, for each directory. A change that an older toolhost would misread
// raises the number, which is first written into the directory's file "format"; without that file it is 1.
const (
	ConfigFormat  = 1 // approvals, rules, pins, logins and keys of the user
	StateFormat   = 1 // the record, undo, tasks and state of a workspace
	PluginsFormat = 1 // installed plugins
)

const formatFile = "format"

// Known refuses a directory written by a newer toolhost, or of unknown format. A missing one is fine.
func Known(what, dir string, newest int) error {
	file := filepath.Join(dir, formatFile)
	text, err := plainfile.Read(file, 64)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return tool.Errorf(tool.Unavailable, "the format of %s cannot be read: %w", what, err).
			Suggest("Make %s readable for this user, or set HOME or XDG_CONFIG_HOME to directories of this user's own.", file)
	}
	have, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || have < 1 {
		return tool.Errorf(tool.Unavailable, "the format of %s is not known: %s holds %q", what, file, text).
			Suggest("Use the toolhost that wrote it, or move %s away to start over. Nothing in it was changed.", dir)
	}
	if have > newest {
		return Newer(what, file, dir, have, newest)
	}
	return nil
}

// Newer returns the error for what a newer toolhost wrote. file says so, and dir is what a user can do without.
func Newer(what, file, dir string, have, newest int) *tool.Error {
	return tool.Errorf(tool.Unsupported,
		"%s was written by a newer toolhost: %s says format %d, and this one reads up to %d",
		what, file, have, newest).
		Suggest("Install the newer toolhost again; nothing was changed. To start over with this one, move %s away.",
			dir)
}

// Usable refuses user decisions written by a newer toolhost: a misread approval or rule would allow too much.
func Usable() error {
	dir, err := configHome()
	if err != nil {
		return nil // nothing to misread
	}
	return Known("what you have decided in toolhost's configuration", dir, ConfigFormat)
}
