// Package digest detects changes of files since the user approved them.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// Files are the hashes of files by their absolute paths, see [Of].
type Files map[string]string

// Changed returns the changed files.
func (f Files) Changed() (changed []string) {
	for _, path := range slices.Sorted(maps.Keys(f)) {
		if Of(path) != f[path] {
			changed = append(changed, path)
		}
	}
	return changed
}

// Verify returns an error if a file has changed.
func (f Files) Verify() error {
	for _, path := range f.Changed() {
		return tool.Errorf(tool.PermissionDenied,
			"%s has changed since agent.hcl was approved, and it would run with the permissions that agent.hcl grants", path).
			Suggest("Ask the user to review the file and run toolhost trust.").With("path", path)
	}
	return nil
}

// Of returns the hash of a file, "" if missing. An unreadable file equals nothing.
func Of(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil || !info.Mode().IsRegular():
		return "?"
	}
	file, err := os.Open(path)
	if err != nil {
		return "?"
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "?"
	}
	return hex.EncodeToString(sum.Sum(nil))
}
