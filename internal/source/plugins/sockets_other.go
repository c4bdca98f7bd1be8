//go:build !unix

package plugins

import (
	"os"
	"path/filepath"
)

// lockDir marks dir as in use. An open file cannot be removed here, so no lock
// is needed.
func lockDir(dir string) (*os.File, error) {
	return os.Create(filepath.Join(dir, "lock"))
}

// abandoned reports false: plugins do not use sockets here, so that little is
// left behind.
func abandoned(string) bool { return false }
