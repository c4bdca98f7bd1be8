package replay

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/files/plainfile"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/effects"
	"github.com/toolhost/toolhost/internal/keep/undo"
)

// tree is what lies in a workspace, as far as it is compared. Repositories' own
// files hold times, and are left out with what programs fill by themselves and
// what toolhost keeps in .agent and in its lock file.
type tree map[string]item

// item is what lies at a path. Its mode is 0 where that is not known.
type item struct {
	digest string
	mode   fs.FileMode
}

// writeOfOthers are the permissions that depend on who replays more often than
// on what a call did: those that an umask takes away.
const writeOfOthers = 0o022

// umaskOf finds the umask by making a file, which works wherever there are modes.
func umaskOf() (mask fs.FileMode, err error) {
	dir, err := os.MkdirTemp("", "toolhost-umask-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	file, err := os.OpenFile(filepath.Join(dir, "x"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return 0o777 &^ info.Mode().Perm(), nil
}

// compared reports whether a path is part of a tree.
func compared(name string) bool {
	if effects.Regained(name) || slashpath.Base(name) == config.LockName {
		return false
	}
	parts := strings.Split(name, "/")
	return !slices.Contains(parts, ".git") && !(parts[0] == ".agent" && len(parts) > 1 &&
		slices.Contains([]string{".gitignore", "cache", "runs", "tasks", "undo"}, parts[1])) && name != ".agent"
}

// names lists the paths, sorted.
func (t tree) names() []string { return slices.Sorted(maps.Keys(t)) }

// hash is the digest of the whole tree, without modes.
func (t tree) hash() string {
	sum := sha256.New()
	for _, name := range t.names() {
		fmt.Fprintf(sum, "%q %s\n", name, t[name].digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// sameMode reports whether two modes are the same but for what the mask has, or
// one of them is not known.
func (i item) sameMode(other item, mask fs.FileMode) bool {
	return i.mode == 0 || other.mode == 0 || (i.mode^other.mode)&^mask == 0
}

// differs lists the paths in which two trees differ, sorted. What the mask has of
// modes is not compared.
func (t tree) differs(other tree, mask fs.FileMode) (paths []string) {
	for name, is := range t {
		if o, ok := other[name]; !ok || o.digest != is.digest || !is.sameMode(o, mask) {
			paths = append(paths, name)
		}
	}
	for name := range other {
		if _, ok := t[name]; !ok {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	return paths
}

// named are paths with what of them differs, where that is their mode alone.
func (t tree) named(paths []string, other tree) []string {
	var named []string
	for _, name := range paths {
		was, is := t[name], other[name]
		if was.digest == is.digest && was.digest != "" {
			name += fmt.Sprintf(" (mode %04o then, %04o now)", was.mode, is.mode)
		}
		named = append(named, name)
	}
	return named
}

// apply makes of the tree what it was after a change.
func (t tree) apply(l undo.Left) {
	path, to := string(l.Path), string(l.To)
	switch l.Kind {
	case workspace.Chmod:
		t.put(path, item{t[path].digest, l.Mode})
	case workspace.Rename:
		t.move(path, to)
		if l.Digest != "" {
			t.put(to, item{l.Digest, l.Mode})
		}
	case workspace.Delete:
		t.remove(path)
	default:
		t.put(path, item{l.Digest, l.Mode})
	}
}

// longestPath is the length in bytes of the longest path that is followed: no
// system has one that is longer, but a file that others wrote may say so.
const longestPath = 1 << 15

// put sets what lies at a path; a mode that is not known stays what it was.
func (t tree) put(path string, is item) {
	was, there := t[path]
	if !compared(path) || len(path) > longestPath || is.digest == "" && !there {
		return
	}
	if is.mode == 0 {
		is.mode = was.mode
	}
	t[path] = is
}

func (t tree) remove(dir string) {
	delete(t, dir)
	for name := range t {
		if strings.HasPrefix(name, dir+"/") {
			delete(t, name)
		}
	}
}

func (t tree) move(from, to string) {
	moved := tree{}
	for name, is := range t {
		if len(to) <= longestPath && (name == from || strings.HasPrefix(name, from+"/")) {
			moved[to+strings.TrimPrefix(name, from)] = is
		}
	}
	t.remove(from)
	t.remove(to)
	for name, is := range moved {
		t.put(name, is)
	}
}

// scanner reads the tree of a directory again and again, and reads only those
// files anew that may have changed.
type scanner struct {
	root  string
	known map[string]seen
}

// seen is a file as it was read. One that was changed so shortly before that its
// time may not tell a later change has no time.
type seen struct {
	size   int64
	time   time.Time
	digest string
}

// granularity is what two changes of a file have to lie apart for their times to
// differ, on any file system.
const granularity = 2 * time.Second

func (s *scanner) scan(ctx context.Context) (tree, error) {
	found, known := tree{}, make(map[string]seen)
	now := time.Now()
	err := filepath.WalkDir(s.root, func(full string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(s.root, full)
		name = filepath.ToSlash(name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case name == ".":
			return nil
		case !compared(name) && entry.IsDir() && name != ".agent":
			return fs.SkipDir
		case !compared(name):
			return nil
		case entry.IsDir():
			info, err := entry.Info()
			if err == nil {
				found[name] = item{undo.Digest(true, false, ""), info.Mode().Perm()}
			}
			return err
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(full)
			found[name] = item{digest: undo.Digest(false, true, workspace.Hash([]byte(target)))}
			return err
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		file, err := s.read(full, name, info, now)
		if err == nil {
			known[name], found[name] = file, item{file.digest, info.Mode().Perm()}
		}
		return err
	})
	s.known = known
	return found, err
}

func (s *scanner) read(full, name string, info fs.FileInfo, now time.Time) (seen, error) {
	if k, ok := s.known[name]; ok && k.size == info.Size() && !k.time.IsZero() && k.time.Equal(info.ModTime()) {
		return k, nil
	}
	file, err := os.Open(full)
	if err != nil {
		return seen{}, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return seen{}, err
	}
	k := seen{size: info.Size(), digest: undo.Digest(false, false, hex.EncodeToString(sum.Sum(nil)))}
	if now.Sub(info.ModTime()) > granularity {
		k.time = info.ModTime()
	}
	return k, nil
}

// Copy copies what lies in a workspace to a directory that is there, without
// what toolhost keeps in .agent and with the modes and times of files. What is
// no file, directory or symlink is left out, and so is what tools do not see:
// hidden tells of a path whether they do not. No link leads out meanwhile.
func Copy(ctx context.Context, from, to string, hidden func(path string) bool) error {
	root, err := plainfile.Root(from)
	if err != nil {
		return err
	}
	defer root.Close()
	var made []string
	times := make(map[string]fs.FileInfo)
	err = filepath.WalkDir(from, func(full string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, full)
		target := filepath.Join(to, name)
		if err := cmp.Or(ctx.Err(), err); err != nil || name == "." {
			return err
		}
		if full == to { // the temporary files are in the workspace
			return fs.SkipDir
		}
		slash := filepath.ToSlash(name)
		if strings.HasPrefix(slash, ".agent/") && strings.Count(slash, "/") == 1 && !compared(slash) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			made = append(made, target)
			times[target] = info
			if err := os.Mkdir(target, 0o700); err != nil || !hidden(full) {
				return err
			}
			return fs.SkipDir
		case hidden(full):
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(full)
			return cmp.Or(err, os.Symlink(link, target))
		case entry.Type().IsRegular():
			return copyFile(root, name, target, info)
		}
		return nil
	})
	for _, dir := range slices.Backward(made) {
		if err == nil {
			err = like(dir, times[dir])
		}
	}
	return err
}

func copyFile(from *os.Root, name, to string, info fs.FileInfo) error {
	in, err := plainfile.OpenIn(from, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return cmp.Or(err, out.Close(), like(to, info))
}

// like gives what was copied the mode and the time of what it was copied from.
func like(path string, info fs.FileInfo) error {
	return cmp.Or(os.Chmod(path, info.Mode().Perm()), os.Chtimes(path, time.Time{}, info.ModTime()))
}

// adopt takes what is at those paths that was not kept then for what it is now: there
// is nothing to compare it with. It gives the other paths.
func (t tree) adopt(actual tree, paths []string, ignored func(string) bool) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		if !ignored(path) {
			return false
		}
		if is, ok := actual[path]; ok {
			t[path] = is
		} else {
			delete(t, path)
		}
		return true
	})
}

// kept are the paths of a call but for the directories that are there or not for what
// others have left in them, and that was not kept.
func kept(paths []string, ignored func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return ignored(path) || ignored(path+"/") })
}
