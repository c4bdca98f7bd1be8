package search

import (
	"path"
	"strings"
)

// narrow moves a search into the directory that its only glob names by its
// beginning: a directory that is named is searched even where .gitignore leaves
// it out. Hidden directories and symlinks are not entered in this way.
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

// isPlain reports a part of a glob that stands for one visible name alone.
func isPlain(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, `*?[]{}\!`)
}
