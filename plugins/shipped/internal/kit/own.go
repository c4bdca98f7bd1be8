package kit

import "strings"

// OwnDirs are where toolhost keeps its records in a workspace, which are no
// part of what the workspace holds.
func OwnDirs() []string {
	return []string{".agent/runs", ".agent/cache", ".agent/undo", ".agent/tasks"}
}

// ownState begins the names of toolhost's database and what lies beside it.
const ownState = ".agent/state.db"

// OwnState reports whether a path, or what a pattern begins with, is toolhost's
// database or lies beside it.
func OwnState(name string) bool { return strings.HasPrefix(name, ownState) }
