package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Limits of a plugin's files and directories: number, total bytes, and depth.
const (
	maxFiles = 50_000
	maxBytes = 1 << 30
	maxDepth = 40
)

// unpacker writes a plugin's files below a directory, whatever their names, within the limits.
type unpacker struct {
	root  *os.Root
	files int // and directories
	bytes int64
	limit int64
	dirs  map[string]bool // existing ones
}

func newUnpacker(dir string, limit int64) (*unpacker, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &unpacker{root: root, limit: limit, dirs: map[string]bool{".": true}}, nil
}

func (u *unpacker) close() { u.root.Close() }

// skip reports whether a plugin does not need the file; such files are often links.
func skip(name string) bool {
	return strings.Contains("/"+name, "/node_modules/.bin/") || name == ".git" || strings.HasPrefix(name, ".git/")
}

// add writes a file or directory under a slash name.
func (u *unpacker) add(name string, mode fs.FileMode, content io.Reader) error {
	name = path.Clean(strings.TrimSuffix(name, "/"))
	switch {
	case name == "." || skip(name):
		return nil
	case !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`):
		return fmt.Errorf("the entry %q leads out of the plugin's directory", name)
	case strings.Count(name, "/") >= maxDepth:
		return fmt.Errorf("the entry %.100q lies more than %d directories deep", name, maxDepth)
	case mode.IsDir():
		return u.mkdir(name)
	case !mode.IsRegular():
		return fmt.Errorf("the entry %q is not a regular file: links and devices are not installed", name)
	}
	if err := errors.Join(u.mkdir(path.Dir(name)), u.count()); err != nil {
		return err
	}
	permission := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		permission = 0o755
	}
	return u.write(filepath.FromSlash(name), permission, content)
}

func (u *unpacker) count() error {
	if u.files++; u.files > maxFiles {
		return fmt.Errorf("there are more than %d files and directories", maxFiles)
	}
	return nil
}

func (u *unpacker) mkdir(name string) error {
	if u.dirs[name] {
		return nil
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if err := u.count(); err != nil {
		return err
	}
	if err := u.root.Mkdir(filepath.FromSlash(name), 0o755); err != nil {
		return err
	}
	u.dirs[name] = true
	return nil
}

func (u *unpacker) write(name string, mode fs.FileMode, content io.Reader) error {
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, u.limit-u.bytes+1))
	if u.bytes += n; u.bytes > u.limit {
		err = fmt.Errorf("the files are larger than %d MiB together", u.limit>>20)
	}
	return errors.Join(err, f.Close())
}

func isArchive(name string) bool {
	for _, suffix := range []string{".tar.gz", ".tgz", ".zip"} {
		if strings.HasSuffix(strings.ToLower(name), suffix) {
			return true
		}
	}
	return false
}

func unpackArchive(name string, data []byte, dir string, limit int64) error {
	u, err := newUnpacker(dir, limit)
	if err != nil {
		return err
	}
	defer u.close()
	if strings.HasSuffix(strings.ToLower(name), ".zip") {
		return u.zip(data)
	}
	return u.tar(data)
}

func (u *unpacker) tar(data []byte) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	// Padding and headers count too, against archive bombs.
	archive := tar.NewReader(io.LimitReader(unzipped, 2*u.limit))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if h.Typeflag == tar.TypeLink && !skip(path.Clean(h.Name)) {
			return fmt.Errorf("the entry %q is not a regular file: links and devices are not installed", h.Name)
		}
		if err := u.add(h.Name, h.FileInfo().Mode(), archive); err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(data []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, f := range archive.File {
		if err := u.zipped(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(f *zip.File) error {
	if f.Mode().IsDir() {
		return u.add(f.Name, f.Mode(), nil)
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	return u.add(f.Name, f.Mode(), content)
}

// copyTree copies a directory like an archive.
func copyTree(from, to string, limit int64) error {
	u, err := newUnpacker(to, limit)
	if err != nil {
		return err
	}
	defer u.close()
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return fs.WalkDir(source.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if skip(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return u.add(name, info.Mode(), nil)
		}
		f, err := source.Open(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		defer f.Close()
		return u.add(name, info.Mode(), f)
	})
}

// unpack writes a fetched file: an archive's files, or the program itself. The file must be verified before.
func (c *content) unpack(limit int64) error {
	if c.file == nil {
		return nil
	}
	if isArchive(c.fileName) {
		return unpackArchive(c.fileName, c.file, c.dir, limit)
	}
	u, err := newUnpacker(c.dir, limit)
	if err != nil {
		return err
	}
	defer u.close()
	return u.add(c.fileName, 0o755, bytes.NewReader(c.file))
}
