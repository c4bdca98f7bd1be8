package effects

import (
	"os"

	"golang.org/x/sys/unix"

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
