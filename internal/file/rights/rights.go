// Package rights copies access rights to a file that replaces another: its owner, mode, access control list,
// security label, and other extended attributes.
package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Rights are the access rights of a file.
type Rights struct {
	info       fs.FileInfo
	attributes []attribute
}

type attribute struct {
	name  string
	value []byte
}

// Lost is the error for rights that a new file cannot have.
type Lost struct {
	What string // such as "its owner"
	// Owner is set for the owner or the group.
	Owner bool
	Err   error
}

func (l *Lost) Error() string { return fmt.Sprintf("%s cannot be kept: %v", l.What, l.Err) }

// Unwrap returns the system's error.
func (l *Lost) Unwrap() error { return l.Err }

// Of returns the rights of an open file described by info.
func Of(f *os.File, info fs.FileInfo) (*Rights, error) {
	names, err := list(f)
	if err != nil {
		return nil, err
	}
	r := &Rights{info: info}
	for _, name := range names {
		if kindOf(name) == made {
			continue
		}
		value, err := get(f, name)
		switch {
		case err == nil:
			r.attributes = append(r.attributes, attribute{name, value})
		case gone(err), kindOf(name) == assigned:
		default:
			return nil, &Lost{What: describe(name), Err: err}
		}
	}
	return r, nil
}

// Plain returns a file's mode without its access control list; nil if it has none. With a list the group bits
// are the list's mask, not the group's own rights.
func Plain(f *os.File, mode fs.FileMode) *fs.FileMode {
	return PlainBy(mode, func(into []byte) (int, error) { return system.get(f, acl, into) })
}

// PlainBy is Plain with a function that reads the list.
func PlainBy(mode fs.FileMode, read func(into []byte) (int, error)) *fs.FileMode {
	if mode.Perm()&0o070 == 0 {
		return nil
	}
	list, err := sized(read)
	if err != nil && (gone(err) || errors.Is(err, errors.ErrUnsupported)) {
		return nil
	}
	plain := mode &^ 0o070 // also if the list cannot be read
	if err == nil {
		plain |= groupOf(list)
	}
	return &plain
}

// Info describes the file.
func (r *Rights) Info() fs.FileInfo { return r.info }

// FirstMode returns the mode to create a file with before Give: private, unless everyone may read both the old
// and the new file.
func (r *Rights) FirstMode(mode fs.FileMode) fs.FileMode {
	perm := mode.Perm()
	if len(r.attributes) == 0 && perm == r.info.Mode().Perm() && (perm == 0o644 || perm == 0o755) {
		return perm
	}
	return 0o600
}

// Give gives these rights to f, a new and empty file made with FirstMode, calls fill to write its content, and sets
// mode. At no time may anyone use f who may not in the end. The error is a *Lost, before fill is called, if a right
// cannot be given, or it is fill's.
func (r *Rights) Give(f *os.File, mode fs.FileMode, fill func() error) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok := r.info.Sys().(*syscall.Stat_t)
	is, too := now.Sys().(*syscall.Stat_t)
	if ok && too && (is.Uid != was.Uid || is.Gid != was.Gid) {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return &Lost{What: "its owner", Owner: true, Err: err}
		}
	}
	moded, err := r.giveAttributes(f, mode)
	if err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	if !moded && now.Mode().Perm() == mode.Perm() {
		return nil // also on file systems without modes of their own
	}
	return f.Chmod(mode.Perm())
}

type kind int

const (
	kept     kind = iota // must be kept, or the change is refused
	assigned             // if it cannot be kept, the new file has the one that the system assigned
	made                 // the system derives it from the content, or drops it with the content
)

const acl = "system.posix_acl_access"

// kindOf classifies the attributes that are not simply copied.
func kindOf(name string) kind {
	switch name {
	case "security.capability", "security.ima", "security.evm":
		return made
	}
	for _, prefix := range []string{"trusted.overlay.", "user.overlay."} { // they say where the content is
		if strings.HasPrefix(name, prefix) {
			return made
		}
	}
	for _, prefix := range []string{"security.", "trusted.", "btrfs.", "com.apple."} {
		if strings.HasPrefix(name, prefix) {
			return assigned
		}
	}
	return kept
}

func describe(name string) string {
	if name == acl {
		return "its access control list"
	}
	return "its extended attribute " + name
}

// giveAttributes reports whether it changed the mode too. The new file may already have attributes: a label
// assigned by the system, and an access control list from its directory.
func (r *Rights) giveAttributes(f *os.File, mode fs.FileMode) (moded bool, err error) {
	names, err := list(f)
	if err != nil {
		return false, err
	}
	has := make(map[string]bool, len(names))
	for _, name := range names {
		has[name] = true
	}
	for _, a := range r.attributes {
		if a.name == acl {
			a.value, moded = withMode(a.value, mode), true
		}
		if has[a.name] {
			delete(has, a.name)
			if value, err := get(f, a.name); err == nil && string(value) == string(a.value) {
				continue
			}
		}
		if err := set(f, a.name, a.value); err != nil && kindOf(a.name) != assigned {
			return moded, &Lost{What: describe(a.name), Err: err}
		}
	}
	if has[acl] {
		if err := remove(f, acl); err != nil && !gone(err) {
			return moded, &Lost{What: "that it has no access control list", Err: err}
		}
		moded = true
	}
	return moded, nil
}

func gone(err error) bool { return errors.Is(err, errNone) }

// list returns the attributes of f, none if the file system does not support them.
func list(f *os.File) ([]string, error) {
	data, err := system.all(f)
	if err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, nil
		}
		return nil, fmt.Errorf("its extended attributes cannot be read: %w", err)
	}
	return strings.FieldsFunc(string(data), func(c rune) bool { return c == 0 }), nil
}

func get(f *os.File, name string) ([]byte, error) {
	return sized(func(into []byte) (int, error) { return system.get(f, name, into) })
}

func set(f *os.File, name string, value []byte) error { return system.set(f, name, value) }

func remove(f *os.File, name string) error { return system.remove(f, name) }

func (c calls) all(f *os.File) ([]byte, error) {
	return sized(func(into []byte) (int, error) { return c.list(f, into) })
}

// calls are system calls that tests replace.
type calls struct {
	list   func(f *os.File, into []byte) (int, error)
	get    func(f *os.File, name string, into []byte) (int, error)
	set    func(f *os.File, name string, value []byte) error
	remove func(f *os.File, name string) error
}
