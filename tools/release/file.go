package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

type file struct {
	path string // relative, with slashes
	mode fs.FileMode
	data []byte
	link string // a symbolic link's target

	// Only in tars.
	dir   bool
	owner int
}

// sorted sorts files by path, and refuses duplicates.
func sorted(files []file) ([]file, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.path, b.path) })
	for i := range files {
		if i > 0 && files[i].path == files[i-1].path {
			return nil, fmt.Errorf("two files are called %s", files[i].path)
		}
	}
	return files, nil
}

func prefixPaths(dir string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].path = path.Join(dir, moved[i].path)
	}
	return moved
}

// directories returns those of the files, parents first.
func directories(files []file) []string {
	var dirs []string
	for _, f := range files {
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// writeFiles writes files below dir, regardless of the umask.
func writeFiles(dir string, files []file) error {
	for _, f := range files {
		if !filepath.IsLocal(f.path) {
			return fmt.Errorf("the file %s would lie outside %s", f.path, dir)
		}
		target := filepath.Join(dir, f.path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if f.link != "" {
			if err := os.Symlink(f.link, target); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(target, f.data, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(target, f.mode); err != nil {
			return err
		}
	}
	return nil
}

func find(files []file, path string) (file, bool) {
	i := slices.IndexFunc(files, func(f file) bool { return f.path == path })
	if i < 0 {
		return file{}, false
	}
	return files[i], true
}

// program returns the name of the program that a file is, "" for another file.
func (f file) program() string {
	base := path.Base(f.path)
	if slices.Contains(compiled(), base) && f.mode&0o111 != 0 && isExecutable(f.data) {
		return base
	}
	return ""
}

// isExecutable detects programs by their first bytes.
func isExecutable(data []byte) bool {
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe"} {
		if strings.HasPrefix(string(data[:min(len(data), 4)]), magic) {
			return true
		}
	}
	return false
}
