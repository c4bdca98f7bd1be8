package obeyed

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/homedir"
)

// personal are the files and directories of a home directory that shells, git, ssh,
// the desktop and the user's own agents obey.
var personal = []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
	".zprofile", ".zlogin", ".inputrc", ".gitconfig", ".ssh", ".config", ".local", ".vimrc", ".vim", ".emacs",
	".emacs.d", ".gnupg", ".npmrc", ".cargo", ".tmux.conf", ".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".opencode",
	".qwen", ".kiro"}

// Opens says in plain words what a grant to read or to write a path gives away
// beside the path, "" where it gives away nothing more. A grant of a path by its
// own name overrides what protects the path.
func Opens(path string, write bool) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	homes := homedir.All()
	for i, home := range homes {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			homes[i] = real
		}
	}
	holds := func(home string) bool { return within(home, path) }
	switch {
	case slices.ContainsFunc(homes, holds) && write:
		return "it is or holds your home directory: a process can change your shell's settings and your keys, " +
			"and so what you run"
	case slices.ContainsFunc(homes, holds):
		return "it is or holds your home directory: a process can read your keys and passwords"
	case !write:
		return ""
	case ByName(split(path)) || Git(path, present):
		return "git, an editor or an agent obeys it: a process can make your own programs run anything"
	}
	for _, home := range homes {
		rel, err := filepath.Rel(home, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if first, _, _ := strings.Cut(rel, string(filepath.Separator)); slices.Contains(personal, first) {
			return "your shell, git, ssh, agent or another program of yours obeys " + filepath.Join(home, first)
		}
	}
	for _, name := range slices.Concat(personal, Names()) {
		if present(filepath.Join(path, filepath.FromSlash(name))) {
			return "it holds " + name + ", which your shell, git, an editor or an agent obeys"
		}
	}
	return ""
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func present(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
