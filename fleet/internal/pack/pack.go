// Package pack packs a workspace into a stream of bytes, and unpacks untrusted ones.
package pack

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Limits bound what a pack may unpack to.
type Limits struct {
	Bytes   int64
	Entries int
}

// DefaultLimits are for workspaces of ordinary size.
var DefaultLimits = Limits{Bytes: 4 << 30, Entries: 500_000}

// ErrPoisoned is the error of a pack that is invalid, or would reach outside.
var ErrPoisoned = errors.New("the pack is refused")

// Make writes the tree of dir. Equal trees give equal bytes. Only files, directories and links
// within the tree are packed.
func Make(dir string, out io.Writer, limits Limits) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	packed, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
	w := &writer{root: root, tar: tar.NewWriter(packed), limits: limits}
	if err := fs.WalkDir(root.FS(), ".", w.add); err != nil {
		return err
	}
	return errors.Join(w.tar.Close(), packed.Close())
}

type writer struct {
	root   *os.Root
	tar    *tar.Writer
	limits Limits
}

func (w *writer) add(name string, entry fs.DirEntry, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil || name == "." {
		return err
	}
	info, err := w.root.Lstat(name)
	if err != nil {
		return ignoreGone(err)
	}
	header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime().Truncate(time.Second),
		Format: tar.FormatPAX}
	w.limits.Entries--
	switch {
	case info.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(name)
		if err != nil || !inside(name, target) {
			return ignoreGone(err)
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, target
	case info.Mode().IsRegular():
		return w.file(name, header)
	default:
		return nil
	}
	return w.header(header)
}

func (w *writer) header(h *tar.Header) error {
	if w.limits.Bytes < 0 || w.limits.Entries < 0 {
		return errors.New("the workspace is too large for a pack; keep builds and downloads out of it")
	}
	return w.tar.WriteHeader(h)
}

func (w *writer) file(name string, header *tar.Header) error {
	file, err := w.root.Open(name)
	if err != nil {
		return ignoreGone(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ignoreGone(err)
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	w.limits.Bytes -= header.Size
	if err := w.header(header); err != nil {
		return err
	}
	_, err = io.CopyN(w.tar, file, header.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s changed while it was packed", name)
	}
	return err
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// inside reports whether a link at name with that target stays in the tree.
func inside(name, target string) bool {
	if target == "" || path.IsAbs(target) || filepath.IsAbs(target) || strings.ContainsRune(target, 0) {
		return false
	}
	return filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target)))
}

// Unpack unpacks into dir, which must be empty. It refuses names outside, links that lead out, hard
// links, devices, duplicate names, and more than the limits. After an error the caller removes what
// was unpacked.
func Unpack(dir string, in io.Reader, limits Limits) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	packed, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPoisoned, err)
	}
	r := &reader{root: root, limits: limits}
	archive := tar.NewReader(packed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			if n, err := io.Copy(io.Discard, io.LimitReader(in, 1)); n > 0 || err != nil {
				return errors.Join(ErrPoisoned, err)
			}
			return r.finish()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPoisoned, err)
		}
		if err := r.entry(header, archive); err != nil {
			return err
		}
	}
}

type reader struct {
	root   *os.Root
	limits Limits
	dirs   []*tar.Header
}

func (r *reader) entry(h *tar.Header, content io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	if name == "" || name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)) || name == "." ||
		strings.ContainsAny(name, "\x00\\") {
		return fmt.Errorf("%w: %q is not below the workspace", ErrPoisoned, h.Name)
	}
	r.limits.Entries--
	r.limits.Bytes -= h.Size
	if r.limits.Entries < 0 || r.limits.Bytes < 0 || h.Size < 0 {
		return fmt.Errorf("%w: it is larger than a workspace may be", ErrPoisoned)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		r.dirs = append(r.dirs, h)
		return r.refused(h, r.root.Mkdir(name, 0o700))
	case tar.TypeSymlink:
		if !inside(name, h.Linkname) {
			return fmt.Errorf("%w: the link %q leads out of the workspace", ErrPoisoned, h.Name)
		}
		return r.refused(h, r.root.Symlink(h.Linkname, name))
	case tar.TypeReg:
		return r.file(name, h, content)
	}
	return fmt.Errorf("%w: %q is neither a file, a directory nor a link", ErrPoisoned, h.Name)
}

func (r *reader) file(name string, h *tar.Header, content io.Reader) error {
	file, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return r.refused(h, err)
	}
	_, err = io.CopyN(file, content, h.Size)
	if err = errors.Join(err, file.Chmod(fs.FileMode(h.Mode).Perm()), file.Close()); err != nil {
		return err
	}
	return r.root.Chtimes(name, h.ModTime, h.ModTime)
}

// refused distinguishes an invalid pack from a failing machine.
func (r *reader) refused(h *tar.Header, err error) error {
	if err == nil || !errors.Is(err, fs.ErrExist) && !strings.Contains(err.Error(), "escapes") {
		return err
	}
	return fmt.Errorf("%w: %q: %w", ErrPoisoned, h.Name, err)
}

// finish sets directories' modes, which may prevent files from being created in them.
func (r *reader) finish() error {
	for i := len(r.dirs) - 1; i >= 0; i-- {
		h := r.dirs[i]
		name := strings.TrimSuffix(h.Name, "/")
		if err := r.root.Chmod(name, fs.FileMode(h.Mode).Perm()|0o700); err != nil {
			return err
		}
		if err := r.root.Chtimes(name, h.ModTime, h.ModTime); err != nil {
			return err
		}
	}
	return nil
}
