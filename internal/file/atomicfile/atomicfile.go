// Package atomicfile replaces toolhost's own files and the operator's: readers, also after a crash, find the old
// content or the new.
//
// A replaced file keeps its owner, access control list and extended attributes. One that cannot be replaced, such
// as a mount, is written in place.
//
// Package workspace writes the files of workspaces.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/toolhost/toolhost/internal/file/inplace"
	"github.com/toolhost/toolhost/internal/file/rights"
)

// rename is os.Rename, replaced by tests.
var rename = os.Rename

// Write makes data the content of the file at path, with the given mode regardless of the umask, synced. A symlink
// at path is replaced, not followed.
func Write(path string, data []byte, mode fs.FileMode) error {
	return replace(path, data, mode, path, (*os.File).Sync)
}

// WriteBeside is Write for a copy of another file, with the same access rights. If the copy cannot have its owner,
// it is private to the user.
func WriteBeside(path string, data []byte, original string) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Lstat(original); err == nil {
		mode = info.Mode().Perm()
	}
	err := replace(path, data, mode, original, (*os.File).Sync)
	var lost *rights.Lost
	if errors.As(err, &lost) {
		return replace(path, data, 0o600, path, (*os.File).Sync)
	}
	return err
}

// WriteCache is Write for reproducible data, such as a cache: private to the user, in a directory created if
// missing, and not synced.
func WriteCache(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replace(path, data, 0o600, path, func(*os.File) error { return nil })
}

// replace writes a file with the rights of the one at like, if any.
func replace(path string, data []byte, mode fs.FileMode, like string, sync func(*os.File) error) error {
	old, err := original(like)
	if err != nil {
		return err
	}
	err = renamed(path, data, mode, old, sync)
	var fixed *inplace.Fixed
	var lost *rights.Lost
	switch {
	case old == nil || like != path:
		return err
	case errors.As(err, &fixed):
	case errors.As(err, &lost) && lost.Owner:
		fixed = &inplace.Fixed{Why: lost.What + " cannot be kept", Err: lost}
	default:
		return err
	}
	if err := over(path, data, mode, old.Info(), sync); err != nil {
		return fmt.Errorf("no new file can take its place (%s), and it cannot be written in place: %w", fixed.Why,
			inplace.Bare(err))
	}
	return nil
}

// original returns the rights of the regular file at path, nil if there is none.
func original(path string) (*rights.Rights, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // the write returns the error
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noLink, 0)
	if errors.Is(err, fs.ErrPermission) { // may be writable but not readable
		f, err = os.OpenFile(path, os.O_WRONLY|noLink, 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	return rights.Of(f, info)
}

// noLink opens neither a link nor a pipe that has replaced a file.
const noLink = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// renamed writes a new file that replaces the one at path.
func renamed(path string, data []byte, mode fs.FileMode, like *rights.Rights, sync func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".toolhost-*") // mode 0600
	if err != nil {
		return inplace.NotBeside(err)
	}
	fill := func() error {
		_, err := f.Write(data)
		return err
	}
	if like != nil {
		err = like.Give(f, mode, fill)
	} else if err = fill(); err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = sync(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = inplace.NotOver(rename(f.Name(), path))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// over writes in place into the file at path, described by info.
func over(path string, data []byte, mode fs.FileMode, info fs.FileInfo, sync func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR|noLink, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(now, info) || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		return errors.New("another program has changed it meanwhile")
	}
	if st, ok := now.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return errors.New("it has other hard links")
	}
	var old bytes.Buffer
	if _, err := io.Copy(&old, f); err != nil {
		return err
	}
	return inplace.Write(f, old.Bytes(), data, mode, sync)
}
