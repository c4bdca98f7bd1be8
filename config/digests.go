package config

import (
	"github.com/toolhost/toolhost/internal/files/realpath"
	"github.com/toolhost/toolhost/internal/keep/digest"
)

// FileDigests gives the hashes of the files that blocks with a grant name, for
// an approval. Whoever changes one of them has the grant; and a name that
// nothing has yet can be taken by a confined command.
func (c *Config) FileDigests() map[string]string {
	digests := make(map[string]string)
	for _, block := range c.Granting(realRoot(c.Workspace.Root)) {
		for _, file := range block.Files {
			digests[file] = digest.Of(file)
		}
	}
	return digests
}

// ApprovedFiles gives the files below root that the words of a command line name
// and that were approved with the configuration, as they were then.
func (c *Config) ApprovedFiles(root string, words []string) digest.Files {
	if len(c.Digests) == 0 {
		return nil
	}
	files := make(digest.Files)
	for _, file := range filesNamed(realRoot(root), words) {
		if was, known := c.Digests[file]; known {
			files[file] = was
		}
	}
	return files
}

// ApprovedTasks is ApprovedFiles for the commands of a Taskfile with a grant: one
// that it includes now, and did not then, must not be there.
func (c *Config) ApprovedTasks(root string) digest.Files {
	if c.Digests == nil || !c.taskfileGrants() {
		return nil
	}
	files := make(digest.Files)
	for _, file := range c.taskfiles(realRoot(root)) {
		files[file] = c.Digests[file]
	}
	return files
}

func realRoot(root string) string {
	if real, err := realpath.Of(root); err == nil {
		return real
	}
	return root
}
