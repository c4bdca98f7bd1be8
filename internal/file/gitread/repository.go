package gitread

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

const maxPointer = 64 << 10 // bytes

// Find returns the top directory of the work tree around dir, an absolute path, as git does, except that git also
// lets the repository's configuration name another work tree, and a .git file another repository, and so show
// files from anywhere. Errors: not_found, and blocked for a .git file that leads to a repository that does not
// name it.
func Find(dir string) (top string, err error) {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil {
			return dir, checkRepository(dir, info)
		}
		if filepath.Dir(dir) == dir {
			return "", tool.Errorf(tool.NotFound, "the workspace is not in a git repository").
				Suggest("git init makes a repository.")
		}
	}
}

// Reads returns directories outside the work tree at top that git reads for a linked worktree or
// submodule.
func Reads(top string) []string {
	data, err := plainfile.Read(filepath.Join(top, ".git"), maxPointer)
	if err != nil {
		return nil // a directory
	}
	return []string{repositoryOf(top, string(data))}
}

// checkRepository accepts a directory, and a file that leads to a repository that names this work tree.
func checkRepository(top string, git os.FileInfo) error {
	if git.IsDir() {
		return nil
	}
	name := filepath.Join(top, ".git")
	if git.Mode().IsRegular() {
		if data, err := plainfile.Read(name, maxPointer); err == nil && leadsBack(top, string(data)) {
			return nil
		}
	}
	return tool.Errorf(tool.Blocked, "the .git of the workspace leads to a repository that does not know of it").
		Suggest("Ask the user to look at %s; git worktree repair fixes a work tree that was moved.", name)
}

// leadsBack reports whether the repository in a .git file was made for this work tree: a linked worktree's, which
// names the .git file, or a submodule's, which is inside the repository above.
func leadsBack(top, content string) bool {
	dir, ok := strings.CutPrefix(strings.TrimSpace(content), "gitdir: ")
	if !ok {
		return false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if data, err := plainfile.Read(filepath.Join(dir, "gitdir"), maxPointer); err == nil {
		return samePath(strings.TrimSpace(string(data)), filepath.Join(top, ".git"))
	}
	for parent := top; filepath.Dir(parent) != parent; {
		parent = filepath.Dir(parent)
		modules := filepath.Join(parent, ".git", "modules") + string(filepath.Separator)
		if strings.HasPrefix(dir, modules) {
			return true
		}
	}
	return false
}

// repositoryOf returns the whole repository's directory for a .git file of a checked work tree.
func repositoryOf(top, content string) string {
	dir, _ := strings.CutPrefix(strings.TrimSpace(content), "gitdir: ")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	if common, err := plainfile.Read(filepath.Join(dir, "commondir"), maxPointer); err == nil {
		if name := strings.TrimSpace(string(common)); filepath.IsAbs(name) {
			return name
		} else {
			return filepath.Join(dir, name)
		}
	}
	return dir
}

func samePath(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
