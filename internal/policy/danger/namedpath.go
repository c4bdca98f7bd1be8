package danger

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/policy"
)

// homeMark stands for the home directory, which the shell inserts.
const homeMark = "~"

type namedPath struct {
	word policy.Word
	// path is absolute and clean, or starts with homeMark, or is what is known of it.
	path string
	// inside is set for paths in the workspace, all if it means everything in the directory path.
	inside, all bool
}

func (j *judge) namedPath(w policy.Word) namedPath {
	p := namedPath{word: w, path: w.Text}
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
	p.inside = j.Root != "" && j.Root != "/" && within(p.path, j.Root)
	return p
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func (p namedPath) is(kind string) bool {
	switch kind {
	case "all":
		return p.all
	case "root":
		return p.path == "/"
	case "named":
		return strings.HasPrefix(p.word.Text, "/") || strings.HasPrefix(p.path, homeMark)
	case "system":
		return p.system()
	case "whole":
		return p.whole()
	case "settings":
		return p.shellSettings()
	case "harmless":
		return p.harmlessDevice()
	case "device": // its content would be lost
		return strings.HasPrefix(p.path, "/dev/") && !p.harmlessDevice()
	}
	panic("danger: no kind of place is called " + kind)
}

func (p namedPath) system() bool {
	return !p.inside &&
		slices.ContainsFunc(rules().lists["system"], func(tree string) bool { return within(p.path, tree) })
}

// whole reports whether losing the place would lose the system or a home directory, including directories of
// the root completed by the shell.
func (p namedPath) whole() bool {
	if p.inside {
		return false
	}
	home := strings.HasPrefix(p.path, "/home/") && strings.Count(p.path, "/") == 2
	completed := p.word.Dynamic && path.Dir(p.path) == "/" && strings.ContainsAny(p.path, "*?[{")
	return p.system() || home || completed || slices.Contains(rules().lists["tops"], p.path) ||
		strings.HasPrefix(p.path, "~") && !strings.Contains(p.path, "/")
}

// harmlessDevice reports whether anyone may write to the device.
func (p namedPath) harmlessDevice() bool {
	return slices.ContainsFunc(rules().lists["harmless"], func(device string) bool {
		return p.path == device || strings.HasSuffix(device, "/") && strings.HasPrefix(p.path, device)
	})
}

// shellSettings reports whether every later shell or login runs the file.
func (p namedPath) shellSettings() bool {
	parts := strings.SplitN(p.path, "/", 4)
	rest := ""
	switch {
	case p.inside:
		return false
	case parts[0] == homeMark:
		rest = strings.TrimPrefix(p.path, homeMark+"/")
	case strings.HasPrefix(p.path, "/root/"):
		rest = strings.TrimPrefix(p.path, "/root/")
	case len(parts) == 4 && (parts[1] == "home" || parts[1] == "Users"):
		rest = parts[3]
	}
	return slices.ContainsFunc(rules().lists["settings"],
		func(prefix string) bool { return strings.HasPrefix(rest, prefix) })
}
