package obeyed

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/homedir"
)

// personal are files and directories of a home directory that shells, git, ssh, the desktop and the user's own
// agents obey. Other names with a leading dot count only in the home directory; these count in other directories
// too.
var personal = []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
	".zprofile", ".zlogin", ".inputrc", ".gitconfig", ".ssh", ".config", ".local", ".vimrc", ".vim", ".emacs",
	".emacs.d", ".gnupg", ".npmrc", ".cargo", ".tmux.conf", ".claude", ".claude.json", ".codex", ".gemini", ".cursor"}

// ofSystem are the directories of the system's programs and settings.
var ofSystem = []string{"/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var/spool/cron"}

// Opens explains what a grant to read or write a path gives away besides the path, "" if nothing.
func Opens(path string, write bool) string {
	path = followed(path)
	var homes []string
	for _, home := range homedir.All() {
		homes = append(homes, followed(home))
	}
	holds := func(dir string) bool { return within(dir, path) }
	meets := func(dir string) bool { return within(dir, path) || within(path, dir) }
	switch {
	case slices.ContainsFunc(homes, holds) && write:
		return "it is or holds your home directory: a process can change your shell's settings and your keys, " +
			"and so what you run"
	case slices.ContainsFunc(homes, holds):
		return "it is or holds your home directory: a process can read your keys and passwords"
	case !write:
		return ""
	case ByName(split(path)):
		return "an editor or an agent obeys it: a process can make your own programs run anything"
	}
	if _, inside := insideGit(split(path)); inside || repositoryAbove(path) || present(filepath.Join(path, ".git")) {
		return "a git repository lies there: a process can change its branches and history"
	}
	for _, home := range homes {
		rel, err := filepath.Rel(home, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if first, _, _ := strings.Cut(rel, string(filepath.Separator)); strings.HasPrefix(first, ".") {
			return "programs of yours take settings, or what they run, from " + filepath.Join(home, first)
		}
	}
	programs := filepath.SplitList(os.Getenv("PATH"))
	for _, home := range homes { // a login may add these to PATH
		programs = append(programs, filepath.Join(home, "bin"), filepath.Join(home, "go", "bin"))
	}
	for _, dir := range programs {
		if filepath.IsAbs(dir) && meets(followed(dir)) {
			return "you run programs from " + dir
		}
	}
	if at := slices.IndexFunc(ofSystem, meets); at >= 0 {
		return "the system's programs and settings lie in " + ofSystem[at]
	}
	for _, name := range slices.Concat(personal, names) {
		if present(filepath.Join(path, filepath.FromSlash(name))) {
			return "it holds " + name + ", which your shell, git, an editor or an agent obeys"
		}
	}
	return ""
}

func repositoryAbove(path string) bool {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if repository(path, present) {
			return true
		}
	}
	return false
}

func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func present(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
