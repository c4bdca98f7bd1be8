package obeyed

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/homedir"
)

const mostOfConfig = 1 << 20

// descriptive are the sections of git's configuration that name no program and no file of a work tree.
var descriptive = []string{"remote", "branch", "submodule", "url", "user", "color", "advice"}

// Configured returns the absolute paths in the work tree that the configuration of the repository in root
// names: the hooks directory, included files, and files of programs. They may be missing.
func Configured(root string) (paths []string) {
	add := func(at string) {
		if at != root && within(at, root) && !slices.Contains(paths, at) {
			paths = append(paths, at)
		}
	}
	for _, name := range []string{"config", "config.worktree"} {
		m := mentioned(readShort(filepath.Join(root, ".git", name)))
		for _, path := range m.included {
			add(inTree(filepath.Join(root, ".git"), path))
		}
		for _, path := range m.files {
			add(inTree(root, path))
		}
		for _, word := range m.words {
			if info, err := os.Lstat(inTree(root, word)); err == nil && !info.IsDir() {
				add(inTree(root, word))
			}
		}
	}
	return paths
}

// Relative returns the relative slash paths that the configurations of the repository in root, its submodules
// and the user name: a file of each work tree, existing or not.
func Relative(root string) (names []string) {
	files, _ := filepath.Glob(filepath.Join(root, ".git", "modules", "*", "config"))
	files = append(files, filepath.Join(root, ".git", "config"), filepath.Join(root, ".git", "config.worktree"))
	if elsewhere := Repository(root); elsewhere != "" {
		files = append(files, filepath.Join(elsewhere, "config"))
	}
	for _, home := range homedir.All() {
		files = append(files, followed(filepath.Join(home, ".gitconfig")), followed(filepath.Join(home, ".config", "git", "config")))
	}
	for _, file := range files {
		m := mentioned(readShort(file))
		m.words = slices.DeleteFunc(m.words, func(word string) bool {
			return !strings.Contains(word, "/") || word[0] == '-' || word[0] == '~'
		})
		for _, name := range append(m.files, m.words...) {
			name = filepath.Clean(name)
			if filepath.IsLocal(name) && name != "." && !slices.Contains(names, name) {
				names = append(names, filepath.ToSlash(name))
			}
		}
	}
	return names
}

// readShort reads a small regular file, without a last newline.
func readShort(path string) string {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostOfConfig {
		return ""
	}
	data, _ := os.ReadFile(path)
	return strings.TrimSuffix(string(data), "\n")
}

// mentions are paths in a configuration: included files, relative to itself, other files, and words that may each
// be a file.
type mentions struct{ included, files, words []string }

func mentioned(config string) (m mentions) {
	section := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if header, ok := strings.CutPrefix(line, "["); ok {
			header, line, _ = strings.Cut(header, "]")
			section, _, _ = strings.Cut(strings.TrimSpace(header), " ")
			section, _, _ = strings.Cut(strings.ToLower(section), ".")
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if value == "" || slices.Contains(descriptive, section) {
			continue
		}
		switch {
		case strings.HasPrefix(section, "include") && key == "path":
			m.included = append(m.included, strings.Trim(value, `"`))
		case key == "hookspath" || key == "attributesfile":
			m.files = append(m.files, strings.Trim(value, `"`))
		default:
			m.words = append(m.words, strings.FieldsFunc(value, func(r rune) bool {
				return strings.ContainsRune(" \t\"'!;&|()<>=", r)
			})...)
		}
	}
	return m
}

func inTree(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
