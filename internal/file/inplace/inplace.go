// Package inplace writes into a file itself if no other file can replace it: it is a mount, its directory is not
// writable, or its owner cannot be kept.
package inplace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Fixed is the error for a file that cannot be replaced.
type Fixed struct {
	Why string // such as "it is a mount"
	Err error
}

func (f *Fixed) Error() string { return fmt.Sprintf("%s: %v", f.Why, Bare(f.Err)) }

// Unwrap returns the system's error.
func (f *Fixed) Unwrap() error { return f.Err }

// Bare returns the system's error without a name that is useless to a reader.
func Bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// NotBeside returns a *Fixed if err says that no file can be created beside another, else err.
func NotBeside(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return &Fixed{"its directory is on a read-only file system", err}
	case errors.Is(err, fs.ErrPermission):
		return &Fixed{"its directory is not writable", err}
	}
	return err
}

// NotOver returns a *Fixed if err says that no file can be renamed over this one, else err.
func NotOver(err error) error {
	var fixed *Fixed
	switch {
	case errors.As(err, &fixed):
	case errors.Is(err, syscall.EBUSY):
		return &Fixed{"it is a mount", err}
	case errors.Is(err, syscall.EXDEV):
		return &Fixed{"it is a mount, or belongs to another quota than its directory", err}
	case errors.Is(err, syscall.EROFS):
		return &Fixed{"its directory is on a read-only file system", err}
	case errors.Is(err, fs.ErrPermission):
		return &Fixed{"its directory does not let it be replaced", err}
	}
	return err
}

// Damaged is the error for a file that may have neither its old content nor the new one.
type Damaged struct {
	Err  error // why the new content could not be written
	Back error // why the old one could not be restored
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("%v, and its old content could not be written back: %v", d.Err, d.Back)
}

// Unwrap returns why the new content could not be written.
func (d *Damaged) Unwrap() error { return d.Err }

// Write makes data the content of f, whose content is old, and sets the bits of mode. sync is called at the end.
// After an error the old content is restored, or the error is a *Damaged.
func Write(f *os.File, old, data []byte, mode fs.FileMode, sync func(*os.File) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	was := info.Mode().Perm()
	mode = mode.Perm()
	between := was & mode // only access that both modes give
	err = chmod(f, was, between)
	if err == nil {
		err = content(f, old, data)
	}
	if err == nil {
		err = chmod(f, between, mode)
	}
	if err == nil {
		err = sync(f)
	}
	if err == nil {
		return nil
	}
	if back := errors.Join(content(f, data, old), f.Truncate(int64(len(old))), chmodBack(f, was), f.Sync()); back != nil {
		return &Damaged{err, back}
	}
	return err
}

// content first writes what needs space: if there is none, old is still whole.
func content(f *os.File, old, data []byte) error {
	if bytes.Equal(old, data) {
		return nil
	}
	n := min(len(old), len(data))
	if len(data) > n {
		if _, err := f.WriteAt(data[n:], int64(n)); err != nil {
			return errors.Join(err, f.Truncate(int64(n)))
		}
	}
	if _, err := f.WriteAt(data[:n], 0); err != nil {
		return err
	}
	if len(data) == len(old) {
		return nil
	}
	return f.Truncate(int64(len(data)))
}

func chmod(f *os.File, is, mode fs.FileMode) error {
	if is == mode {
		return nil
	}
	return f.Chmod(mode)
}

func chmodBack(f *os.File, was fs.FileMode) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return chmod(f, info.Mode().Perm(), was)
}
