package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/store/digest"
)

// FileDigests returns the hashes of the files that blocks with a grant name, for an approval. Changing such a
// file uses the grant, and a confined command can create a missing one.
func (c *Config) FileDigests() map[string]string {
	digests := make(map[string]string)
	for _, block := range c.PrivilegedBlocks(realRoot(c.Workspace.Root)) {
		for _, file := range block.Files {
			digests[file] = digest.Of(file)
		}
	}
	return digests
}

// ApprovedFiles returns the approved files that the words of a command line name: those below root, the
// absolute workspace, and those below the configuration's own root.
func (c *Config) ApprovedFiles(root string, words []string) digest.Files {
	if len(c.Digests) == 0 {
		return nil
	}
	root, own := realRoot(root), realRoot(c.Workspace.Root)
	named := filesNamed(root, words)
	if root != own {
		there := func(word string) bool { return !strings.Contains(word, own) }
		named = append(named, filesNamed(own, slices.DeleteFunc(slices.Clone(words), there))...)
	}
	files := make(digest.Files)
	for _, file := range named {
		if was, known := c.approvedAs(file, root, own); known {
			files[file] = was
		}
	}
	return files
}

// approvedAs returns the hash under which a file was approved, by its path or, below root, by the corresponding
// path in the configuration's own root.
func (c *Config) approvedAs(file, root, own string) (sum string, known bool) {
	if sum, known = c.Digests[file]; known {
		return sum, true
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		sum, known = c.Digests[filepath.Join(own, rel)]
	}
	return sum, known
}

// ApprovedTasks is ApprovedFiles for the commands of a Taskfile with a grant: files included only since then
// must not exist.
func (c *Config) ApprovedTasks(root string) digest.Files {
	if c.Digests == nil || c.Taskfile == nil || !c.grants(c.Taskfile.Access, nil) {
		return nil
	}
	root, own, files := realRoot(root), realRoot(c.Workspace.Root), make(digest.Files)
	for _, file := range c.taskfiles(root) {
		files[file], _ = c.approvedAs(file, root, own)
	}
	return files
}

func realRoot(root string) string {
	if real, err := realpath.Of(root); err == nil {
		return real
	}
	return root
}
