package obeyed

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/realpath"
)

// mostEntries and deepest bound the search for symlinks in a directory that programs obey, which no tool can fill.
const (
	mostEntries = 1000
	deepest     = 3
)

// Linked returns what symlinks lead through and to, in the trees: those that git and other programs obey in the first
// tree, those among names, slash paths in it, and those in directories of both. All are absolute paths without symlinks
// before the last name. What they lead to may be missing, or a directory with all below it.
func Linked(trees, names []string) []string {
	root, l := trees[0], &links{trees: trees}
	repository := Repository(root)
	if repository != "" {
		l.trees = append(slices.Clip(trees), repository)
	} else {
		_, repository = realpath.Way(root, ".git")
	}
	for _, name := range names {
		l.follow(root, name)
	}
	for _, name := range inRepository {
		l.follow(repository, name)
	}
	l.search(root, nil)
	slices.Sort(l.found)
	return l.found
}

type links struct {
	trees, found, seen []string
	left               int // entries to look at
}

// search follows what programs obey by name below a directory.
func (l *links) search(dir string, parts []string) {
	for _, e := range entries(dir, -1) {
		at := append(slices.Clip(parts), e.Name())
		switch link := e.Type()&fs.ModeSymlink != 0; {
		case !link && !e.IsDir():
		case ByName(at) || link && HoldsName(at):
			l.follow(dir, e.Name())
		case HoldsName(at):
			l.search(filepath.Join(dir, e.Name()), at)
		}
	}
}

func (l *links) follow(dir, path string) {
	l.left = mostEntries
	l.note(dir, path)
}

// note notes the way of a path below a directory, and of symlinks below its end.
func (l *links) note(dir, path string) {
	way, end := realpath.Way(dir, path)
	if len(way) > 0 {
		way = append(way, end)
	}
	for _, at := range way {
		if l.inside(at) && !slices.Contains(l.found, at) {
			l.found = append(l.found, at)
		}
	}
	if l.inside(end) && !slices.Contains(l.seen, end) {
		l.seen = append(l.seen, end)
		l.below(end, deepest)
	}
}

func (l *links) below(dir string, depth int) {
	if depth == 0 || l.left <= 0 {
		return
	}
	for _, e := range entries(dir, l.left) {
		l.left--
		if e.Type()&fs.ModeSymlink != 0 {
			l.note(dir, e.Name())
		} else if e.IsDir() {
			l.below(filepath.Join(dir, e.Name()), depth-1)
		}
	}
}

func (l *links) inside(path string) bool {
	return slices.ContainsFunc(l.trees, func(tree string) bool { return strings.HasPrefix(path, tree+"/") })
}

// entries returns at most that many entries of a directory, all if negative; none of anything else.
func entries(dir string, most int) []fs.DirEntry {
	opened, err := os.Open(dir + "/.") // fails at once for a pipe
	if err != nil {
		return nil
	}
	defer opened.Close()
	all, _ := opened.ReadDir(most)
	return all
}
