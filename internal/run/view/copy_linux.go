package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

// Limits of a copy: its paths, and the bytes that do not share their blocks with the tree.
const (
	mostCopied      = 100_000
	mostCopiedBytes = 1 << 30
)

// Copy returns the layer of a directory as a copy, made once in a view, for where overlayfs does not work.
func (v *View) Copy(tree string) (Layer, error) {
	layer, err := v.Layer(tree)
	if err != nil || layer.Copied {
		return layer, err
	}
	from, err := os.OpenRoot(tree)
	if err != nil {
		return layer, err
	}
	defer from.Close()
	top, err := from.Stat(".")
	if err != nil {
		return layer, err
	}
	c := copier{from: from, to: layer.Upper, device: deviceOf(top)}
	if err := c.directory("."); err != nil {
		return layer, err
	}
	if err := v.noteOriginals(layer); err != nil {
		return layer, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.layers {
		if v.layers[i].Tree == tree {
			v.layers[i].Copied, v.layers[i].Work = true, ""
			layer = v.layers[i]
		}
	}
	return layer, nil
}

// copier copies a tree. It follows no symlink out of it, and enters no mount.
type copier struct {
	from   *os.Root
	to     string
	device uint64
	paths  int
	bytes  int64
}

func deviceOf(info fs.FileInfo) uint64 {
	stat, _ := info.Sys().(*unix.Stat_t)
	if stat == nil {
		return 0
	}
	return stat.Dev
}

func (c *copier) directory(name string) error {
	dir, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, below := range names {
		if err == nil {
			err = c.path(filepath.Join(name, below))
		}
	}
	return err
}

func (c *copier) path(name string) error {
	if c.paths++; c.paths > mostCopied {
		return fmt.Errorf("it has more than %d files and directories", mostCopied)
	}
	info, err := c.from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	to := filepath.Join(c.to, name)
	switch {
	case info.IsDir():
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		if deviceOf(info) == c.device {
			if err := c.directory(name); err != nil {
				return err
			}
		}
		err = os.Chmod(to, info.Mode().Perm())
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := c.from.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case info.Mode().IsRegular():
		err = c.file(name, to, info)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

func (c *copier) file(name, to string, info fs.FileInfo) (err error) {
	from, err := c.from.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	copied, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Chmod(info.Mode().Perm()), copied.Close()) }()
	if unix.IoctlFileClone(int(copied.Fd()), int(from.Fd())) == nil {
		return nil
	}
	n, err := io.Copy(copied, io.LimitReader(from, mostCopiedBytes-c.bytes+1))
	if c.bytes += n; err == nil && c.bytes > mostCopiedBytes {
		err = fmt.Errorf("its files hold more than %d bytes", mostCopiedBytes)
	}
	return err
}

type original struct {
	Inode   uint64        `json:"inode"`
	Changed unix.Timespec `json:"changed"`
}

// Originals are the paths of a copy as it was made.
type Originals struct {
	paths map[string]original
	below map[string][]string
}

func originalsFile(l Layer) string { return filepath.Join(filepath.Dir(l.Upper), "copied.json") }

// noteOriginals stores the originals, and waits until later changes have another time.
func (v *View) noteOriginals(l Layer) error {
	paths := make(map[string]original)
	err := filepath.WalkDir(l.Upper, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && d != nil && d.IsDir() {
			return nil // nothing readable was in it
		}
		if err != nil {
			return err
		}
		var stat unix.Stat_t
		if err := unix.Lstat(path, &stat); err != nil {
			return err
		}
		name, err := filepath.Rel(l.Upper, path)
		paths[name] = original{stat.Ino, stat.Ctim}
		return err
	})
	if err != nil {
		return err
	}
	data, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(originalsFile(l), data, 0o600); err != nil {
		return err
	}
	_, err = tick(v.dir)
	return err
}

// Originals returns the originals of a copied layer, nil for a layer of overlayfs.
func (l Layer) Originals() (*Originals, error) {
	if !l.Copied {
		return nil, nil
	}
	data, err := os.ReadFile(originalsFile(l))
	if err != nil {
		return nil, err
	}
	o := &Originals{below: make(map[string][]string)}
	if err := json.Unmarshal(data, &o.paths); err != nil {
		return nil, err
	}
	for name := range o.paths {
		if name != "." {
			o.below[filepath.Dir(name)] = append(o.below[filepath.Dir(name)], filepath.Base(name))
		}
	}
	for _, names := range o.below {
		slices.Sort(names)
	}
	return o, nil
}

// Unchanged reports whether a path is the copied one, unchanged. Entries of a directory may have changed.
func (o *Originals) Unchanged(name string, is *unix.Stat_t) bool {
	return o.Same(name, is) && o.paths[name].Changed == is.Ctim
}

// Same reports whether a path is the copied one, changed or not.
func (o *Originals) Same(name string, is *unix.Stat_t) bool {
	was, known := o.paths[name]
	return known && was.Inode == is.Ino
}

// Below returns the names that were copied in a directory.
func (o *Originals) Below(dir string) []string { return o.below[dir] }
