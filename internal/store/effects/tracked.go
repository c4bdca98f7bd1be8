package effects

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// mostOfIndex bounds the index of a repository, in bytes.
const mostOfIndex = 256 << 20

// tracked are the directories of build output in which git tracks files: they are the project's, whatever a
// later ignore rule says. The index is opened before a call begins and read when needed, so that a git command
// of the call changes nothing here.
type tracked struct {
	index *os.File // nil without a repository, or err
	err   error
	dirs  func() map[string]bool // nil if it cannot be read
}

func openTracked(tree string) *tracked {
	t := &tracked{}
	t.index, t.err = openIndex(filepath.Join(tree, ".git"))
	t.dirs = sync.OnceValue(func() map[string]bool {
		defer t.index.Close()
		data, err := io.ReadAll(io.LimitReader(t.index, mostOfIndex))
		if err != nil {
			return nil
		}
		return trackedDirs(data)
	})
	return t
}

// openIndex opens the index of the repository at git, which may be a file that names the directory.
func openIndex(git string) (*os.File, error) {
	if data, err := os.ReadFile(git); err == nil {
		dir := strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:"))
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(git), dir)
		}
		git = dir
	}
	file, err := os.Open(filepath.Join(git, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file, err
}

// in reports whether git tracks files in a directory, and true if unknown.
func (t *tracked) in(dir string) bool {
	if t.err != nil || t.index == nil {
		return t.err != nil
	}
	dirs := t.dirs()
	return dirs == nil || dirs[dir]
}

// trackedDirs returns the directories named like build output with files in an index of git, nil if the index
// is invalid or refers to another. See gitformat-index(5).
func trackedDirs(index []byte) map[string]bool {
	const header, stat, hash = 12, 40, 20
	if len(index) < header || string(index[:4]) != "DIRC" {
		return nil
	}
	version, entries := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return nil
	}
	dirs := make(map[string]bool)
	rest, name := index[header:], []byte(nil)
	for range entries {
		fixed := stat + hash + 2
		if len(rest) < fixed {
			return nil
		}
		if flags := binary.BigEndian.Uint16(rest[stat+hash:]); version > 2 && flags&0x4000 != 0 {
			fixed += 2
		}
		at := fixed
		if version == 4 {
			strip, n := offsetVarint(rest[min(at, len(rest)):])
			if n == 0 || strip > len(name) {
				return nil
			}
			name, at = name[:len(name)-strip:len(name)-strip], at+n
		} else {
			name = nil
		}
		end := bytes.IndexByte(rest[min(at, len(rest)):], 0)
		if end < 0 {
			return nil
		}
		name = append(name, rest[at:at+end]...)
		at += end + 1
		if version < 4 {
			at = (fixed + end + 8) / 8 * 8
		}
		if at > len(rest) {
			return nil
		}
		rest = rest[at:]
		addBuilt(dirs, string(name))
	}
	for len(rest) > hash { // extensions
		if len(rest) < hash+8 || bytes.HasPrefix(rest, []byte("link")) { // a split index
			return nil
		}
		size := int64(binary.BigEndian.Uint32(rest[4:])) + 8
		if size > int64(len(rest)) {
			return nil
		}
		rest = rest[size:]
	}
	if len(rest) != hash { // of another object format
		return nil
	}
	return dirs
}

func offsetVarint(data []byte) (value, size int) {
	for i, b := range data[:min(len(data), 9)] {
		if i > 0 {
			value++
		}
		if value = value<<7 | int(b&0x7f); b&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}

func addBuilt(dirs map[string]bool, name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if slices.Contains(built, path.Base(dir)) {
			dirs[dir] = true
		}
	}
	if strings.HasSuffix(name, "/") && slices.Contains(built, path.Base(name)) { // of a sparse index
		dirs[strings.TrimSuffix(name, "/")] = true
	}
}
