package danger

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
)

// homeMark stands for the home directory, whose name the shell puts in.
const homeMark = "~"

// place is what a word names in the file system.
type place struct {
	// path is absolute and clean, or begins with homeMark, or is what is known
	// of it.
	path string
	// inside is true for what lies in the workspace, all is true when it means
	// everything in the directory path.
	inside, all bool
	dynamic     bool
}

func (j *judge) place(w policy.Word) place {
	p := place{path: w.Text, dynamic: w.Dynamic}
	for _, home := range []string{"$HOME", "${HOME}", `"$HOME"`} {
		if rest, ok := strings.CutPrefix(p.path, home); ok && (rest == "" || rest[0] == '/') {
			p.path = homeMark + rest
		}
	}
	for _, tail := range []string{"/*", "/.*", "/{*,.*}", "/**"} {
		if rest, ok := strings.CutSuffix(p.path, tail); ok {
			p.path, p.all = rest+"/", true
		}
	}
	if p.path == "*" || p.path == ".*" || p.path == "**" {
		p.path, p.all = ".", true
	}
	if !path.IsAbs(p.path) && !strings.HasPrefix(p.path, homeMark) {
		p.path = path.Join(j.cwd, p.path)
	}
	p.path = path.Clean(p.path)
	p.inside = within(p.path, j.Root)
	return p
}

func within(p, dir string) bool {
	return dir != "" && dir != "/" && (p == dir || strings.HasPrefix(p, dir+"/"))
}

// trees are those that make up the system: nothing in them is the agent's.
func trees() []string {
	return []string{"/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/dev", "/proc", "/sys", "/efi",
		"/System", "/Library", "/Applications", "/private/etc"}
}

// tops are directories that are not the agent's as a whole.
func tops() []string {
	return []string{"/", homeMark, "/home", "/root", "/var", "/opt", "/srv", "/mnt", "/media", "/run", "/Users", "/Volumes", "/var/lib", "/var/log"}
}

// system reports a place that belongs to the system.
func (p place) system() bool {
	if p.inside {
		return false
	}
	return slices.ContainsFunc(trees(), func(tree string) bool { return p.path == tree || strings.HasPrefix(p.path, tree+"/") })
}

// whole reports a place whose loss would be that of the system or of a home:
// what is written for a directory in the root that the shell completes counts
// as well.
func (p place) whole() bool {
	if p.inside {
		return false
	}
	home := strings.HasPrefix(p.path, "/home/") && strings.Count(p.path, "/") == 2
	completed := p.dynamic && path.Dir(p.path) == "/" && strings.ContainsAny(p.path, "*?[{")
	return p.system() || home || completed || slices.Contains(tops(), p.path) || strings.HasPrefix(p.path, "~") && !strings.Contains(p.path, "/")
}

// harmlessDevice reports a device that anybody may write.
func (p place) harmlessDevice() bool {
	return slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full"}, p.path) ||
		strings.HasPrefix(p.path, "/dev/fd/") || strings.HasPrefix(p.path, "/dev/shm/") || strings.HasPrefix(p.path, "/proc/self/fd/")
}

// device reports a device whose content would be lost.
func (p place) device() bool {
	return strings.HasPrefix(p.path, "/dev/") && !p.harmlessDevice()
}

// shellSettings reports files by which every later shell or login runs code.
func (p place) shellSettings() bool {
	rest, ok := strings.CutPrefix(p.path, homeMark+"/")
	if !ok {
		parts := strings.SplitN(p.path, "/", 4)
		switch {
		case strings.HasPrefix(p.path, "/root/"):
			rest = strings.TrimPrefix(p.path, "/root/")
		case len(parts) == 4 && (parts[1] == "home" || parts[1] == "Users"):
			rest = parts[3]
		default:
			return false
		}
	}
	if p.inside {
		return false
	}
	for _, prefix := range []string{".bash", ".profile", ".zsh", ".zprofile", ".zlogin", ".login", ".ssh/", ".config/fish", ".gitconfig", ".netrc", ".gnupg/", ".aws/"} {
		if strings.HasPrefix(rest, prefix) {
			return true
		}
	}
	return false
}

// operands are the arguments of a command that are no options. valued are the
// options whose value is the next word.
func operands(c *policy.Command, valued ...string) []policy.Word {
	var out []policy.Word
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		switch text := words[i].Text; {
		case text == "--":
			return append(out, words[i+1:]...)
		case slices.Contains(valued, text):
			i++
		case !strings.HasPrefix(text, "-") || text == "-":
			out = append(out, words[i])
		}
	}
	return out
}

// texts are the operands as texts.
func texts(words []policy.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

// begins reports whether the operands begin with words, each of which may name
// several by "|".
func begins(have []string, words ...string) bool {
	if len(have) < len(words) {
		return false
	}
	for i, w := range words {
		if !slices.Contains(strings.Split(w, "|"), have[i]) {
			return false
		}
	}
	return true
}
