// Package fork keeps forks of a workspace: copy-on-write views that live on, each
// with a state of its own. A session in a fork sees the workspace at its own path
// and changes a layer above it. What the workspace held when the fork changed a
// path for the first time is the path's base, from which a merge tells what the
// fork has changed and what others have.
package fork

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/undo"
)

// DirName is the directory of the forks in a workspace's state.
const DirName = "forks"

// Info is what is known of a fork without looking into it.
type Info struct {
	Name string    `json:"name"`
	Root string    `json:"workspace"`
	Made time.Time `json:"made"`
	// Merged is when it was last merged; zero for never.
	Merged time.Time `json:"merged,omitzero"`
	// Merge is the call that merged something last; "" where the workspace held it already.
	Merge string `json:"merge,omitempty"`
	// Undone says that this has been undone.
	Undone bool `json:"undone,omitempty"`
	// InUse says that a session works in it.
	InUse bool `json:"in_use"`
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)

// words are those that follow toolhost fork and name no fork.
var words = []string{"list", "diff", "merge", "drop", "help"}

// CheckName refuses what cannot name a fork.
func CheckName(name string) error {
	switch {
	case slices.Contains(words, name):
		return tool.Errorf(tool.InvalidArgument, "no fork can be named %q, which is a word of toolhost fork", name).
			Suggest("Choose another name.")
	case !validName.MatchString(name):
		return tool.Errorf(tool.InvalidArgument, "%.80q is no name of a fork", name).
			Suggest("Use 1 to 64 letters, digits, '-', '_' and '.', and begin with a letter or a digit.")
	}
	return nil
}

// Names are those of the forks of a workspace, whatever becomes of them meanwhile.
func Names(state string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(state, DirName))
	for _, entry := range entries {
		if entry.IsDir() && CheckName(entry.Name()) == nil {
			names = append(names, entry.Name())
		}
	}
	return names
}

// NotHere is the error where there are no forks.
func NotHere(why string) error {
	return tool.Errorf(tool.Unsupported, "there are no forks of the workspace here: %s", why).
		Suggest("They need Linux, the sandbox level full (toolhost doctor says what keeps it from working) and a state " +
			"directory on ext4, XFS, Btrfs or tmpfs. Elsewhere, give each agent a checkout of its own (git worktree).")
}

// Conflict is a path that both the fork and others have changed.
type Conflict struct {
	Path string `json:"path"`
	// Why says what the two sides have done.
	Why string `json:"why"`
	// Beside is where the fork's side lies; "" where the file itself holds both
	// sides, or the fork has none.
	Beside string `json:"beside,omitempty"`
}

// Left is a path that stays in the fork.
type Left struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// base is what a path held when the fork changed it first, or was merged.
type base struct {
	undo.State
	// unknown says that somebody changed it at about the same time.
	unknown bool
	// below says that what lay in a directory that the fork has removed or
	// replaced is known too: what comes there later is not the fork's.
	below bool
	// merged is the merge that it comes from; nil for what the fork began with.
	merged *merged
}

// merged is a merge of a path.
type merged struct {
	call   string
	into   string // where the fork's side went
	before base
}
