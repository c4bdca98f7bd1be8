package config

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
	"github.com/toolhost/toolhost/internal/files/realpath"
)

// FileDigests gives the hashes of the files that blocks with a grant name, for
// an approval. Whoever changes one of them has the grant; and a name that
// nothing has yet can be taken by a confined command.
func (c *Config) FileDigests() map[string]string {
	digests := make(map[string]string)
	for _, block := range c.Granting(realRoot(c.Workspace.Root)) {
		for _, file := range block.Files {
			digests[file] = digest(file)
		}
	}
	return digests
}

// VerifyFiles refuses the words of a command line that name a file below root
// which is not as it was when the configuration was approved.
func (c *Config) VerifyFiles(root string, words []string) error {
	if len(c.Digests) == 0 {
		return nil
	}
	for _, file := range filesNamed(realRoot(root), words) {
		if was, known := c.Digests[file]; known && digest(file) != was {
			return tool.Errorf(tool.PermissionDenied,
				"%s is not what it was when agent.hcl was approved, and would run with a grant", file).
				Suggest("The user can look at the file and approve it with toolhost trust.").With("path", file)
		}
	}
	return nil
}

// ChangedFiles lists the files that are not as they were in an approval.
func ChangedFiles(approved map[string]string) (changed []string) {
	for _, file := range slices.Sorted(maps.Keys(approved)) {
		if digest(file) != approved[file] {
			changed = append(changed, file)
		}
	}
	return changed
}

func realRoot(root string) string {
	if real, err := realpath.Of(root); err == nil {
		return real
	}
	return root
}

// digest is the hash of a file, "" for one that is not there. What cannot be read
// is like nothing else.
func digest(path string) string {
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
