package effects

import (
	"slices"
	"strings"
)

// regained are directories that programs fill by themselves, and that nobody
// wants back: what changes there is counted.
var regained = []string{"node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}

// ignore gives the directory for whose sake changes below a path are not kept,
// "" for a path that counts. Objects of git, which are named by their content,
// stay for what they are.
func ignore(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		if slices.Contains(regained, part) || part == "objects" && i > 0 && inGit(parts[:i]) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// inGit reports whether a directory is a repository's own, or a submodule's.
func inGit(parts []string) bool {
	return parts[len(parts)-1] == ".git" ||
		slices.Contains(parts, ".git") && slices.Contains(parts, "modules")
}
