package effects

import (
	"slices"
	"strings"
)

// regained are directories that programs fill by themselves, and that nobody
// wants back: what changes there is counted.
var regained = []string{"node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}

// ignore gives the directory for whose sake changes below a path are not kept,
// "" for a path that counts.
func ignore(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		if slices.Contains(regained, part) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// object reports whether a path is one of git's objects, which are named by their
// content: those that a call has made may stay, and those that it removes are
// kept as all else.
func object(name string) bool {
	parts := strings.Split(name, "/")
	for i := 1; i < len(parts)-1; i++ {
		if parts[i] == "objects" && inGit(parts[:i]) {
			return true
		}
	}
	return false
}

// inGit reports whether a directory is a repository's own, or a submodule's.
func inGit(parts []string) bool {
	return parts[len(parts)-1] == ".git" ||
		slices.Contains(parts, ".git") && slices.Contains(parts, "modules")
}
