package effects

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// deepestMove bounds the depth to which a moved directory is examined.
const deepestMove = 256

// moveTree is Before for everything below a directory, here and at its destination. It has the directories of
// one level open at a time.
func (c *Call) moveTree(from, to watch.Place) {
	_, here := c.trees.name(from.Path)
	_, there := c.trees.name(to.Path)
	if !here && !there {
		return
	}
	source, err := openTree(from)
	if err != nil {
		if !absent(err) {
			c.miss("what is in " + c.nameOf(from.Path) + ": " + err.Error())
		}
		return // not a directory
	}
	defer source.Close()
	target, err := openTree(to)
	if err != nil {
		target = nil
	}
	defer target.Close()
	if there && err != nil && !absent(err) { // an unseen name in it must not be taken for a new one
		c.miss("what is in " + c.nameOf(to.Path) + ": " + err.Error())
		there = false
	}
	for todo := [][]string{nil}; len(todo) > 0; {
		last := len(todo) - 1
		dir := todo[last]
		todo = todo[:last]
		goes := to.Path
		if !there {
			goes = ""
		}
		for _, name := range c.moveDirectory(source, target, from.Path, goes, dir) {
			if len(dir) == deepestMove {
				c.miss(fmt.Sprintf("what is more than %d directories deep in %s", deepestMove, from.Path))
				break
			}
			todo = append(todo, append(dir[:len(dir):len(dir)], name))
		}
		if c.beyond > 0 && len(c.paths) >= MaxPaths {
			return
		}
	}
}

// nameOf returns the name of a path, or the path if it has none.
func (c *Call) nameOf(path string) string {
	if name, ok := c.trees.name(path); ok {
		return name
	}
	return path
}

// moveDirectory is Before for the entries of one directory of a moved tree, and for their destination unless
// that is "". It returns the names of its directories.
func (c *Call) moveDirectory(source, target *os.File, from, to string, dir []string) (dirs []string) {
	at, err := openBelow(source, dir)
	if err != nil {
		if !absent(err) {
			c.miss("what is in " + from + ": " + err.Error())
		}
		return nil
	}
	defer at.Close()
	then := -1
	if target != nil {
		file, err := openBelow(target, dir)
		if err == nil {
			defer file.Close()
			then = int(file.Fd())
		} else if to != "" && !absent(err) {
			c.miss("what is in " + c.nameOf(to+"/"+strings.Join(dir, "/")) + ": " + err.Error())
			to = ""
		}
	}
	below := strings.Join(append([]string{""}, dir...), "/") + "/"
	entries, _ := at.ReadDir(-1)
	for _, entry := range entries {
		name := entry.Name()
		source := watch.Place{Path: from + below + name, Dir: int(at.Fd()), Name: name}
		if to != "" {
			c.beforeMove(source, watch.Place{Path: to + below + name, Dir: then, Name: name})
		} else {
			c.before(source, watch.Content)
		}
		if entry.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// openBelow opens a directory below an open one without following symlinks.
func openBelow(top *os.File, names []string) (*os.File, error) {
	at, err := openTree(watch.Place{Dir: int(top.Fd()), Name: "."})
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		next, failed := openTree(watch.Place{Dir: int(at.Fd()), Name: name})
		_ = at.Close()
		at, err = next, failed
	}
	return at, err
}

// mostLooked bounds the files searched for other names of one.
const mostLooked = 50_000

// linked finds the files of the trees with several names.
func (c *Call) linked() map[undo.FileID][]string {
	found := make(map[undo.FileID][]string)
	looked := 0
	for _, tree := range append([]string{c.trees.Root}, c.trees.Allow...) {
		_ = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
			name, ok := c.trees.name(path)
			switch {
			case err != nil:
				return fs.SkipDir
			case !ok:
				return nil
			case undo.OwnFile(name) || d.IsDir() && c.rules().ignore(name+"/") != "":
				return fs.SkipDir
			case !d.IsDir() && c.rules().ignore(name) != "":
				return nil
			case looked >= mostLooked:
				c.miss("other names of hard-linked files, in so large a tree")
				return fs.SkipAll
			}
			looked++
			var stat unix.Stat_t
			if d.Type().IsRegular() && unix.Lstat(path, &stat) == nil && stat.Nlink > 1 {
				id := stateOf(&stat).File
				found[id] = append(found[id], name)
			}
			return nil
		})
	}
	return found
}

// beforeLinks is Before for the other names of a file that changes.
func (c *Call) beforeLinks(state undo.State, what watch.What) {
	if state.Links < 2 || !state.Mode.IsRegular() {
		return
	}
	if c.links == nil {
		c.links = c.linked()
	}
	for _, other := range c.links[state.File] {
		if k := c.paths[other]; k == nil || what == watch.Content && !k.whole {
			c.beforeLink(other, what)
		}
	}
}

// beforeLink is Before for another name of a file that changes.
func (c *Call) beforeLink(name string, what watch.What) {
	path := c.trees.path(name)
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		c.before(watch.Place{Path: path, Dir: fd}, what)
		_ = unix.Close(fd)
	}
}

func openTree(at watch.Place) (*os.File, error) {
	if at.Dir < 0 {
		return nil, unix.ENOENT
	}
	fd, err := unix.Openat(at.Dir, at.Name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), at.Name), nil
}
