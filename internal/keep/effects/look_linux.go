package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// mostHashed is the size of a file up to which it is compared by its content.
const mostHashed = workspace.DefaultReadLimit

// look gives what is at a place, with its content if that is wanted and no
// longer than room.
func look(at watch.Place, content bool, room int64) undo.State {
	file := at.Dir
	if at.Name != "" {
		fd, err := unix.Openat(at.Dir, at.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if at.Dir < 0 || absent(err) {
			return undo.State{}
		}
		if err != nil { // what is there is not known: undo must not take it for nothing
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
	switch {
	case s.Mode&fs.ModeSymlink != 0:
		s.Content = linkAt(file)
		s.Hash = workspace.Hash(s.Content)
	case !s.Mode.IsRegular() || !content:
	case s.Size > undo.DefaultMaxFile:
		s.Lost = fmt.Sprintf("it had %d bytes, and at most %d are kept", s.Size, undo.DefaultMaxFile)
	case s.Size > room:
		s.Lost = fmt.Sprintf("the call has changed more than %d bytes", MaxBytes)
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

// absent reports that there is nothing by a name, by what opening it said.
func absent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENAMETOOLONG)
}

func stateOf(stat *unix.Stat_t) undo.State {
	return undo.State{Exists: true, Mode: modeOf(uint32(stat.Mode)), Size: stat.Size,
		ModTime: time.Unix(stat.Mtim.Unix()), Links: uint64(stat.Nlink),
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

// contentOf reads what is open for no access.
func contentOf(file int, size int64) ([]byte, error) {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(file), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
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

func linkAt(file int) []byte {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(file, "", target)
	if err != nil {
		return nil
	}
	return target[:n]
}

// now gives what a path holds, to compare it.
func now(path string) undo.State {
	var stat unix.Stat_t
	if unix.Lstat(path, &stat) != nil {
		return undo.State{}
	}
	s := stateOf(&stat)
	switch {
	case s.Mode&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		s.Hash = workspace.Hash([]byte(target))
	case s.Mode.IsRegular() && s.Size <= mostHashed:
		s.Hash = hashOf(path)
	}
	return s
}

func hashOf(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(fd), filepath.Base(path))
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
