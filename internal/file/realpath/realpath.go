// Package realpath resolves paths. Rules about directories compare real paths, since any component may be a
// symlink.
package realpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const maxLinks = 40 // as on Linux

// Of resolves every symlink in path, also one to a missing file, and returns an absolute path. Missing components
// stay as written. It fails on a loop of links, or a directory that may not be searched.
func Of(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	volume := filepath.VolumeName(path)
	return follow(volume+string(filepath.Separator), path[len(volume):], func(string) {})
}

// Way returns the symlinks that a path below dir leads through, and its end, existing or not, with the links before
// them resolved. dir has none. The end is empty if it cannot be reached.
func Way(dir, path string) (links []string, end string) {
	end, _ = follow(dir, path, func(link string) { links = append(links, link) })
	return links, end
}

func follow(done, path string, passed func(link string)) (end string, err error) {
	links := 0
	todo := parts(path)
	for len(todo) > 0 {
		next := filepath.Join(done, todo[0])
		todo = todo[1:]
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			done = next
			continue
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "follow", Path: path, Err: errors.New("too many symlinks")}
		}
		passed(next)
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			done = filepath.VolumeName(target) + string(filepath.Separator)
		}
		todo = append(parts(target), todo...)
	}
	return done, nil
}

// parts returns the components of a path. A ".." stays: it applies after the links before it.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}

// Memo caches resolved paths, so that a search looks at each directory once. It is for one search: a symlink
// may change after it.
type Memo map[string]string

// Of is filepath.EvalSymlinks for a clean path.
func (m Memo) Of(path string) (string, error) {
	if real, known := m[path]; known {
		return real, nil
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path, nil
	}
	dir, err := m.Of(dir)
	if err != nil {
		return "", err
	}
	real := filepath.Join(dir, filepath.Base(path))
	info, err := os.Lstat(real)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", err
	}
	m[path] = real
	return real, nil
}

// Within reports whether path is dir or below it, with symlinks in both resolved. It returns false if that
// fails.
func Within(path, dir string) bool {
	path, err := Of(path)
	if err != nil {
		return false
	}
	dir, err = Of(dir)
	return err == nil && Below(path, dir)
}

// Below reports whether path is dir or below it, by names alone.
func Below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
