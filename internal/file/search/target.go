package search

import (
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// target is the directory or file to search, with symlinks resolved.
type target struct {
	// rel is the path in results: relative to the workspace, "." for itself, absolute in another allowed directory.
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

// relativePath returns the path of a file that a walk found, relative to the target.
func (t target) relativePath(name string) string {
	if t.rel == "." {
		return name
	}
	return strings.TrimPrefix(name, strings.TrimSuffix(t.rel, "/")+"/")
}

// narrow moves a search into the literal directory prefix of its only glob: a named directory is searched even if
// .gitignore excludes it. It enters no hidden directories and symlinks.
func (s *Searcher) narrow(q Query) Query {
	if len(q.Globs) != 1 || q.NoIgnore {
		return q
	}
	names := strings.Split(strings.TrimPrefix(strings.TrimPrefix(q.Globs[0], "/"), "./"), "/")
	dir, depth := q.Dir, 0
	for ; depth < len(names)-1 && isPlain(names[depth]); depth++ {
		next := path.Join(dir, names[depth])
		if info, err := s.ws.Lstat(next); err != nil || !info.IsDir() {
			return q
		}
		dir = next
	}
	if depth == 0 || q.MaxDepth > 0 && q.MaxDepth <= depth {
		return q
	}
	q.Dir, q.Globs = dir, []string{"/" + strings.Join(names[depth:], "/")}
	q.MaxDepth = max(0, q.MaxDepth-depth)
	return q
}

// isPlain reports whether a component of a glob is one literal, visible name.
func isPlain(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, `*?[]{}\!`)
}
