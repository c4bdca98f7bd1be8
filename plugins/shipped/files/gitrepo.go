package files

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// findRepository gives the top directory of the work tree that the workspace
// lies in. Git finds it likewise; but git also lets the repository's own
// configuration name another directory as its work tree, and a .git file name
// another repository, and so show files from anywhere.
func findRepository(ws *workspace.Workspace) (top string, err error) {
	for dir := ws.Root(); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil {
			return dir, checkRepository(dir, info)
		}
		if filepath.Dir(dir) == dir {
			return "", tool.Errorf(tool.NotFound, "the workspace is not in a git repository").
				Suggest("There is nothing to compare with; git init makes a repository.")
		}
	}
}

// checkRepository accepts a directory, and a file that leads to a repository
// that in turn knows of this work tree.
func checkRepository(top string, git os.FileInfo) error {
	if git.IsDir() {
		return nil
	}
	name := filepath.Join(top, ".git")
	if git.Mode().IsRegular() {
		if data, err := os.ReadFile(name); err == nil && leadsBack(top, string(data)) {
			return nil
		}
	}
	return tool.Errorf(tool.Blocked, "the .git of the workspace leads to a repository that does not know of it").
		Suggest("Ask the user to look at %s; git worktree repair mends a work tree that was moved.", name)
}

// leadsBack reports whether the repository that a .git file names is one made
// for this work tree: a linked work tree's, which names the .git file, or a
// submodule's, which lies in the repository above.
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
	if data, err := os.ReadFile(filepath.Join(dir, "gitdir")); err == nil {
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

// repositoryOf is the directory that holds all of the repository that a .git
// file of a checked work tree names.
func repositoryOf(top, content string) string {
	dir, _ := strings.CutPrefix(strings.TrimSpace(content), "gitdir: ")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	if common, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
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

// sentinel is a setting of our own. Where git does not see it, it does not see
// the others either.
const sentinel = "toolhost.sentinel"

// filterOverrides gives the settings that take the filters of the repository's
// own configuration out of force. Those of the user's configuration stay: large
// files are often kept by one, and without it each would look changed.
func (g *gitRun) filterOverrides() ([]setting, error) {
	listed, err := g.run(nil, "config", "--null", "--show-scope", "--get-regexp", `^(filter|toolhost)\.`)
	if err != nil {
		return nil, err
	}
	if listed.ExitCode > 1 || listed.Stdout.Truncated() {
		return nil, failure(tool.CommandFailed, listed, "the git configuration cannot be read").
			Suggest("Mend the repository's configuration; git config --list shows what is wrong with it.")
	}
	trusted := make(map[string]string)
	var own []setting
	obeyed := false
	fields := strings.Split(listed.Stdout.String(), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		switch scope := fields[i]; {
		case scope == "command":
			obeyed = obeyed || key == sentinel
		case scope == "local" || scope == "worktree":
			own = append(own, setting{key: key})
		default:
			trusted[key] = value
		}
	}
	if !obeyed {
		return nil, tool.Errorf(tool.Unsupported, "this git is too old to be kept from running programs that a repository names").
			Suggest("Install git 2.31 or newer.")
	}
	for i, s := range own {
		own[i].value = trusted[s.key]
		if own[i].value == "" && strings.HasSuffix(s.key, ".required") {
			own[i].value = "false"
		}
	}
	return own, nil
}
