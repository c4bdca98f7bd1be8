package effects

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// Rename implements watch.Watcher. What is in a directory goes and comes with it.
func (c *Call) Rename(from, to watch.Place, exchange bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before(from, watch.Content)
	c.before(to, watch.Content)
	c.moveTree(from, to)
	if exchange {
		c.moveTree(to, from)
	}
}

// moveTree is Before for all that lies below a directory, here and where it is
// going to be.
func (c *Call) moveTree(from, to watch.Place) {
	_, here := c.trees.name(from.Path)
	_, there := c.trees.name(to.Path)
	if !here && !there {
		return
	}
	source, err := openTree(from)
	if err != nil {
		if !absent(err) {
			c.miss("what is in " + from.Path + ": " + err.Error())
		}
		return // no directory
	}
	defer source.Close()
	target, err := openTree(to)
	if err == nil {
		defer target.Close()
	}
	names, _ := source.Readdirnames(-1)
	for _, name := range names {
		below := watch.Place{Path: from.Path + "/" + name, Dir: int(source.Fd()), Name: name}
		then := watch.Place{Path: to.Path + "/" + name, Dir: -1, Name: name}
		if target != nil {
			then.Dir = int(target.Fd())
		}
		c.before(below, watch.Content)
		c.before(then, watch.Content)
		c.moveTree(below, then)
		if c.beyond > 0 && len(c.paths) >= MaxPaths {
			return
		}
	}
}

// mostLooked is how many files are looked at for other names of one.
const mostLooked = 50_000

// linked finds the files of the trees that have several names.
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
