package obeyed

import (
	"path/filepath"
	"slices"
	"strings"
)

// Trees are the trees that a command may change, as it sees them.
type Trees struct {
	// Writable reports whether an absolute path is in a writable tree, Root whether it is one.
	Writable, Root func(path string) bool
	Exists         Exists
	// Straight reports whether a path exists without a symlink on the way. Read returns the content of a regular
	// file.
	Straight func(path string) bool
	Read     func(path string) (content string, ok bool)
}

// Check is the allowed content of a file that git obeys. The file is replaced as a whole by a checked copy, to
// which only toolhost can write.
type Check struct {
	// Accepts reports whether content may replace old. exists is whether the file exists.
	Accepts func(old string, exists bool, content string) bool
	// InPlace is set if git writes to the file itself, instead of renaming another over it. Fixed is the only
	// allowed content, if there is just one.
	InPlace bool
	Fixed   string
}

const mainDirectory = "../.."

// Checked returns the allowed content of a file at a path that git obeys, nil if it may not be created or
// changed.
func (t Trees) Checked(at string) *Check {
	inside, found := insideGit(split(at))
	if !found {
		return nil
	}
	dir, name := filepath.Split(at)
	dir = filepath.Clean(dir)
	switch {
	case len(inside) == 0:
		if name == ".git" && !t.Root(dir) {
			return &Check{InPlace: true, Accepts: func(_ string, _ bool, content string) bool {
				return t.leads(dir, content)
			}}
		}
	case operation(inside) != nil:
		return operation(inside)
	case name == "config" && ofRepository(inside[:len(inside)-1]):
		return &Check{Accepts: func(old string, exists bool, content string) bool {
			if exists && !(t.nested(at) && plainConfig(old, dir, t.Writable)) {
				return content == old || follows(old, content) && (!changes("core.worktree", old, content) ||
					plainConfig(content, dir, t.Writable))
			}
			return plainConfig(content, dir, t.Writable)
		}}
	case name == "commondir" && ofWorkTree(inside):
		return &Check{InPlace: true, Fixed: mainDirectory + "\n"}
	case name == "gitdir" && ofWorkTree(inside):
		return &Check{InPlace: true, Accepts: func(_ string, _ bool, content string) bool {
			to := inTree(dir, strings.TrimSuffix(content, "\n"))
			return filepath.Base(to) == ".git" && t.Writable(to) && !t.Root(filepath.Dir(to))
		}}
	}
	return nil
}

func changes(name, old, text string) bool {
	set := func(text string) bool {
		all, _ := settings(text)
		return slices.ContainsFunc(all, func(s setting) bool { return s.name() == name })
	}
	return set(old) != set(text)
}

// ofRepository reports whether a directory is a repository's, or a submodule's. inside are the names below .git.
func ofRepository(inside []string) bool {
	if len(inside) > 3 && inside[0] == "worktrees" && inside[2] == "modules" {
		inside = inside[2:]
	}
	return len(inside) == 0 || inside[0] == "modules" && len(inside) > 1 &&
		!HasAny(inside, "refs", "logs", "objects", "hooks", "info", "worktrees")
}

// ofWorkTree reports whether a file is in a repository's directory for a linked worktree.
func ofWorkTree(inside []string) bool {
	at := len(inside) - 3
	return at >= 0 && inside[at] == "worktrees" && ofRepository(inside[:at])
}

// leads reports whether a .git file in a directory leads to the repository of a submodule or linked worktree in the
// tree.
func (t Trees) leads(dir, content string) bool {
	to, ok := strings.CutPrefix(strings.TrimSuffix(content, "\n"), "gitdir: ")
	if !ok || strings.ContainsAny(to, "\n\r\x00") {
		return false
	}
	to = inTree(dir, to)
	inside, found := insideGit(split(to))
	if !found || !t.Writable(to) || !(ofWorkTree(append(slices.Clone(inside), "HEAD")) || len(inside) > 0 && ofRepository(inside)) {
		return false
	}
	return t.Straight(to)
}

// MayBeDirectory reports whether a path that git obeys may be created as an empty directory: its content is
// checked separately.
func MayBeDirectory(at string) bool {
	inside, found := insideGit(split(at))
	name := filepath.Base(at)
	return found && (len(inside) == 0 && name == ".git" || (name == "hooks" || name == "branches") && ofRepository(inside[:len(inside)-1]))
}

// nested reports whether a path belongs to a repository below a tree's own.
func (t Trees) nested(at string) bool {
	parts := split(at)
	for i, part := range parts {
		if part == ".git" {
			dir := join(parts[:i])
			return t.Writable(dir) && !t.Root(dir)
		}
	}
	return false
}

// MayGo reports whether a path that git obeys, or recognizes a repository by, may be removed: the .git of a
// submodule or linked worktree, a repository's files for a linked worktree, and everything of a repository below a
// tree's own with a configuration that a command could have made.
func (t Trees) MayGo(at string) bool {
	inside, found := insideGit(split(at))
	if !found {
		return false
	}
	if ofWorkTree(inside) && HasAny(inside[len(inside)-1:], "commondir", "gitdir", "HEAD") {
		return true
	}
	if !t.nested(at) {
		return false
	}
	if len(inside) == 0 {
		return true
	}
	parts := split(at)
	for end := len(parts) - 1; end > len(parts)-len(inside)-1; end-- { // the enclosing repository
		dir := parts[:end]
		if below, _ := insideGit(dir); !ofRepository(below) {
			continue
		}
		config := filepath.Join(join(dir), "config")
		content, ok := t.Read(config)
		if !ok && t.Exists(config) || ok && !plainConfig(content, join(dir), t.Writable) {
			return false
		}
		last := inside[len(inside)-1]
		return HasAny([]string{last}, "config", "HEAD", "objects", "refs", "hooks", "branches")
	}
	return false
}

// Repository returns the repository directory of a submodule or linked worktree, if outside the work tree, else "".
// The repository must name the work tree: a .git file alone could lead anywhere.
func Repository(root string) string {
	read := func(elements ...string) string { return readShort(filepath.Join(elements...)) }
	to, ok := strings.CutPrefix(read(root, ".git"), "gitdir: ")
	if !ok {
		return ""
	}
	to = inTree(root, to)
	if real, err := filepath.EvalSymlinks(to); err != nil || real != to || within(to, root) {
		return ""
	}
	inside, found := insideGit(split(to))
	switch {
	case !found || len(inside) == 0:
	case ofWorkTree(append(slices.Clone(inside), "HEAD")):
		if inTree(to, read(to, "gitdir")) == filepath.Join(root, ".git") && read(to, "commondir") == mainDirectory {
			return filepath.Dir(filepath.Dir(to))
		}
	case ofRepository(inside):
		all, _ := settings(read(to, "config"))
		if slices.ContainsFunc(all, func(s setting) bool {
			return s.name() == "core.worktree" && inTree(to, s.value) == root
		}) {
			return to
		}
	}
	return ""
}
