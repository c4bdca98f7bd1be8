package fork

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/undo"
)

// Bounds of what is read: of a file whose content is told by a digest, of one that
// is merged line by line, and of all files in one go. A file beyond is told by its
// size and times, and never read.
const (
	mostHashed = 256 << 20
	mostMerged = 16 << 20
	mostRead   = 4 << 30
)

// tree is a directory that is held. What is looked at lies below it by its real
// path: no symlink is followed, whatever takes the place of a directory meanwhile.
type tree struct {
	dir  *os.File
	read int64 // bytes so far
}

func openTree(dir string) (*tree, error) {
	file, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return &tree{dir: file}, nil
}

func (t *tree) close() {
	if t != nil {
		_ = t.dir.Close()
	}
}

// enter opens the directory of a name, "." for the tree itself.
func (t *tree) enter(name string) (fd int, err error) {
	fd, err = unix.Openat(int(t.dir.Fd()), ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if name == "." || err != nil {
		return fd, err
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			_ = unix.Close(fd)
			return -1, unix.EINVAL
		}
		next, err := unix.Openat(fd, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		_ = unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// lstat looks at a name. There is nothing by it where a part of it is no directory.
func (t *tree) lstat(name string) (stat unix.Stat_t, there bool, err error) {
	dir, err := t.enter(path.Dir(name))
	if err == nil {
		defer unix.Close(dir)
		err = unix.Fstatat(dir, path.Base(name), &stat, unix.AT_SYMLINK_NOFOLLOW)
	}
	if absent(err) {
		return stat, false, nil
	}
	return stat, err == nil, err
}

// absent reports that there is nothing by a name, by what opening it said.
func absent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// open opens a regular file.
func (t *tree) open(name string) (*os.File, unix.Stat_t, error) {
	var stat unix.Stat_t
	dir, err := t.enter(path.Dir(name))
	if err != nil {
		return nil, stat, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, path.Base(name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, stat, err
	}
	file := os.NewFile(uintptr(fd), name)
	if err = unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("it is no regular file")
	}
	if err != nil {
		_ = file.Close()
		return nil, stat, err
	}
	return file, stat, nil
}

// names lists a directory, sorted; none where there is none.
func (t *tree) names(name string) ([]string, error) {
	dir, err := t.enter(name)
	if err != nil {
		if absent(err) {
			err = nil
		}
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	names, err := file.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// has reports an extended attribute of a directory or file.
func (t *tree) has(name, attribute string) bool {
	dir, err := t.enter(path.Dir(name))
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	_, err = unix.Lgetxattr(fmt.Sprintf("/proc/self/fd/%d/%s", dir, path.Base(name)), attribute, nil)
	return err == nil
}

// state looks at what is by a name, and at its content.
func (t *tree) state(name string) (undo.State, error) {
	stat, there, err := t.lstat(name)
	if err != nil || !there {
		return undo.State{}, err
	}
	s := stateOf(&stat)
	switch {
	case s.Mode&fs.ModeSymlink != 0:
		target, err := t.readlink(name)
		s.Hash, s.Size = workspace.Hash([]byte(target)), int64(len(target))
		return s, err
	case s.Mode.IsRegular():
		return t.fileState(name)
	}
	return s, nil
}

func (t *tree) readlink(name string) (string, error) {
	dir, err := t.enter(path.Dir(name))
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, path.Base(name), buffer)
	return string(buffer[:max(n, 0)]), err
}

func (t *tree) fileState(name string) (undo.State, error) {
	file, stat, err := t.open(name)
	if err != nil {
		return undo.State{}, err
	}
	defer file.Close()
	s := stateOf(&stat)
	if t.read+s.Size > mostRead || s.Size > mostHashed {
		s.Hash = unread(&stat)
		return s, nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, mostHashed))
	t.read += n
	s.Hash = hex.EncodeToString(sum.Sum(nil))
	return s, err
}

// unreadMark begins what stands for the digest of a file that was not read.
const unreadMark = "unread:"

// unread stands for the digest of a file that is too large to be read.
func unread(stat *unix.Stat_t) string {
	return fmt.Sprintf("%s%d:%d:%d.%d", unreadMark, stat.Ino, stat.Size, stat.Mtim.Sec, stat.Mtim.Nsec)
}

// content reads a file of a known state.
func (t *tree) content(name string, s undo.State) ([]byte, error) {
	if s.Mode&fs.ModeSymlink != 0 {
		target, err := t.readlink(name)
		return []byte(target), err
	}
	file, stat, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if stat.Size > mostHashed {
		return nil, fmt.Errorf("it has %d bytes, too many to be read", stat.Size)
	}
	data, err := io.ReadAll(io.LimitReader(file, mostHashed+1))
	if err == nil && workspace.Hash(data) != s.Hash {
		err = fmt.Errorf("it has changed meanwhile")
	}
	return data, err
}

func stateOf(stat *unix.Stat_t) undo.State {
	s := undo.State{Exists: true, Mode: fs.FileMode(stat.Mode & 0o777), Size: stat.Size,
		ModTime: time.Unix(stat.Mtim.Unix())}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.Mode, s.Size = s.Mode|fs.ModeDir, 0
	case unix.S_IFLNK:
		s.Mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		s.Mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		s.Mode |= fs.ModeSocket
	default:
		s.Mode |= fs.ModeDevice
	}
	return s
}

// whiteout reports that overlayfs says by it that a name is gone.
func whiteout(stat *unix.Stat_t) bool { return stat.Mode&unix.S_IFMT == unix.S_IFCHR && stat.Rdev == 0 }

// before reports that nothing about it has changed since a time.
func before(stat *unix.Stat_t, at time.Time) bool { return time.Unix(stat.Ctim.Unix()).Before(at) }
