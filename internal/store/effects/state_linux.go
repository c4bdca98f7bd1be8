package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/file/rights"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// mostHashed is the size of the largest file whose contents are compared.
const mostHashed = workspace.DefaultReadLimit

// readState returns the state of a place, with its content if wanted and not larger than room.
func readState(at watch.Place, content bool, room int64) undo.State {
	file := at.Dir
	if at.Name != "" {
		fd, err := unix.Openat(at.Dir, at.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if at.Dir < 0 || absent(err) {
			return undo.State{}
		}
		if err != nil { // unknown: undo must not take it for nothing
			return undo.State{Mode: fs.ModeIrregular, Lost: err.Error()}
		}
		defer unix.Close(fd)
		file = fd
	}
	var stat unix.Stat_t
	if unix.Fstat(file, &stat) != nil || at.Name == "" && stat.Nlink == 0 {
		return undo.State{Mode: fs.ModeIrregular}
	}
	s := stateOf(&stat)
	if s.Mode.IsRegular() || s.Mode.IsDir() {
		s.Plain = rights.PlainBy(s.Mode, func(into []byte) (int, error) {
			return unix.Getxattr("/proc/self/fd/"+strconv.Itoa(file), "system.posix_acl_access", into)
		})
	}
	switch {
	case s.Mode&fs.ModeSymlink != 0:
		s.Content = linkAt(file)
		s.Hash = workspace.Hash(s.Content)
	case !s.Mode.IsRegular() || !content:
	case s.Size > undo.DefaultMaxFile:
		s.Lost = fmt.Sprintf("it had more than %d MiB", undo.DefaultMaxFile>>20)
	case s.Size > room:
		s.Lost = fmt.Sprintf("the call changed more than %d MiB", MaxBytes>>20)
	default:
		data, err := contentOf(file, s.Size)
		if err != nil {
			s.Lost = "it could not be read: " + err.Error()
			break
		}
		s.Content, s.Hash, s.Size = data, workspace.Hash(data), int64(len(data))
	}
	return s
}

// absent reports whether an open error means that the file does not exist.
func absent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENAMETOOLONG)
}

func stateOf(stat *unix.Stat_t) undo.State {
	return undo.State{Exists: true, Mode: modeOf(uint32(stat.Mode)), Size: stat.Size,
		ModTime: time.Unix(stat.Mtim.Unix()), Changed: time.Unix(stat.Ctim.Unix()), Links: uint64(stat.Nlink),
		Special: fs.FileMode(stat.Mode & (unix.S_ISUID | unix.S_ISGID | unix.S_ISVTX)),
		File:    undo.FileID{Dev: uint64(stat.Dev), Ino: stat.Ino}}
}

func modeOf(raw uint32) fs.FileMode {
	mode := fs.FileMode(raw & 0o777)
	switch raw & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeDevice
	}
	return mode
}

// contentOf reads an O_PATH descriptor.
func contentOf(file int, size int64) ([]byte, error) {
	fd, err := openForReading("/proc/self/fd/" + strconv.Itoa(file))
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data := make([]byte, 0, size+1)
	for {
		if len(data) == cap(data) {
			if int64(len(data)) > undo.DefaultMaxFile {
				return nil, unix.EFBIG
			}
			data = append(data, 0)[:len(data)]
		}
		n, err := unix.Read(fd, data[len(data):cap(data)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return data, nil
		}
		data = data[:len(data)+n]
	}
}

// openForReading opens a file, meanwhile widening its mode if its owner cannot read it.
func openForReading(path string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK
	var stat unix.Stat_t
	fd, err = unix.Open(path, flags, 0)
	if err != unix.EACCES || unix.Stat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG ||
		unix.Chmod(path, stat.Mode&0o7777|unix.S_IRUSR) != nil {
		return fd, err
	}
	defer func() { _ = unix.Chmod(path, stat.Mode&0o7777) }()
	return unix.Open(path, flags, 0)
}

func linkAt(file int) []byte {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(file, "", target)
	if err != nil {
		return nil
	}
	return target[:n]
}

// unlocked runs look, which reads at path, as plainfile.Unlocked does.
func (c *Call) unlocked(path string, look func() error) error {
	err := look()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	c.unlocking.Lock()
	defer c.unlocking.Unlock()
	return plainfile.UnlockedIn(c.trees.treeOf(path), path, look)
}

// now returns the present state of a path, for comparison. Lost says why it is unknown.
func (c *Call) now(path string) (s undo.State) {
	err := c.unlocked(filepath.Dir(path), func() error {
		var stat unix.Stat_t
		if err := unix.Lstat(path, &stat); err != nil {
			return err
		}
		s = stateOf(&stat)
		return nil
	})
	switch {
	case absent(err):
		return undo.State{}
	case err != nil:
		return undo.State{Exists: true, Mode: fs.ModeIrregular, Lost: err.Error()}
	case s.Mode&fs.ModeSymlink != 0:
		_ = c.unlocked(path, func() error {
			target, err := os.Readlink(path)
			s.Hash = workspace.Hash([]byte(target))
			return err
		})
	case s.Mode.IsRegular() && s.Size <= mostHashed:
		_ = c.unlocked(path, func() (err error) {
			s.Hash, err = hashOf(path)
			return err
		})
	}
	return s
}

// hashed has buffers for hashing files: a command may leave thousands.
var hashed = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// hashOf returns the SHA-256 of a file's content, in hexadecimal.
func hashOf(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := hashed.Get().(*[64 << 10]byte)
	defer hashed.Put(buf)
	sum := sha256.New()
	for {
		n, err := unix.Read(fd, buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "", err
		}
		if n == 0 {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		sum.Write(buf[:n])
	}
}
