package search

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// target is the directory or file to search, with symlinks resolved.
type target struct {
	// rel is the path as results show it: relative to the workspace, "." for
	// itself, absolute in a further allowed directory.
	rel  string
	file bool
}

func (s *Searcher) resolve(dir string) (target, error) {
	if dir == "" {
		dir = "."
	}
	abs, err := s.ws.Check(dir, workspace.Read)
	if err != nil {
		return target{}, err
	}
	info, err := s.ws.Stat(dir)
	if err != nil {
		return target{}, err
	}
	rel, err := s.ws.Rel(abs)
	if err != nil {
		return target{}, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return target{}, tool.Errorf(tool.Unsupported, "%s is neither a file nor a directory",
			dir).Suggest("Name a file or a directory.")
	}
	return target{rel: rel, file: !info.IsDir()}, nil
}

// below gives a path that a walk of the target found relative to it.
func (t target) below(name string) string {
	if t.rel == "." {
		return name
	}
	return strings.TrimPrefix(name, strings.TrimSuffix(t.rel, "/")+"/")
}

// ignoreFiles gives the files by which the workspace's root says what to
// leave out. ok is false when a directory between the root and the target has
// rules of its own, which ripgrep cannot be given from outside.
func (s *Searcher) ignoreFiles(t target) (files []string, ok bool) {
	for dir := path.Dir(t.rel); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if s.exists(dir + "/.gitignore") {
			return nil, false
		}
	}
	for _, name := range []string{".git/info/exclude", ".gitignore"} {
		if s.exists(name) {
			files = append(files, name)
		}
	}
	return files, true
}

func (s *Searcher) exists(name string) bool {
	_, err := s.ws.Stat(name)
	return err == nil
}

func isAbs(name string) bool { return path.IsAbs(name) || filepath.IsAbs(name) }
