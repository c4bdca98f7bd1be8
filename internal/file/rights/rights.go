// Package rights gives a file that takes the place of another what decides who
// may use that one: its owner, its mode, its access control list, its security
// label, and its other extended attributes.
package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Rights are those of a file.
type Rights struct {
	info       fs.FileInfo
	attributes []attribute
}

type attribute struct {
	name  string
	value []byte
}

// Lost is the error of rights that a new file cannot have.
type Lost struct {
	What string // reads like "its owner"
	// Owner says that it is the owner or the group.
	Owner bool
	Err   error
}

func (l *Lost) Error() string { return fmt.Sprintf("%s cannot be kept: %v", l.What, l.Err) }

// Unwrap gives what the system said.
func (l *Lost) Unwrap() error { return l.Err }

// Of gives the rights of an open file, of which info is known.
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

// Plain is a mode as it is without the access control list that the file has; nil where
// it has none. With a list the bits of the group are the most that the list gives to
// anybody but the owner, and not what the group itself has.
func Plain(f *os.File, mode fs.FileMode) *fs.FileMode {
	return PlainBy(mode, func(into []byte) (int, error) { return system.get(f, acl, into) })
}

// PlainBy is Plain with a call that reads the list.
func PlainBy(mode fs.FileMode, read func(into []byte) (int, error)) *fs.FileMode {
	if mode.Perm()&0o070 == 0 {
		return nil
	}
	list, err := sized(read)
	if err != nil && (gone(err) || errors.Is(err, errors.ErrUnsupported)) {
		return nil
	}
	plain := mode &^ 0o070 // also where the list cannot be read
	if err == nil {
		plain |= groupOf(list)
	}
	return &plain
}

// Info is what was known of the file.
func (r *Rights) Info() fs.FileInfo { return r.info }

// FirstMode is the mode to make a new file with that is going to be given
// these rights and mode: it is private until it has them, unless all others may
// read the old file and may go on to.
func (r *Rights) FirstMode(mode fs.FileMode) fs.FileMode {
	perm := mode.Perm()
	if len(r.attributes) == 0 && perm == r.info.Mode().Perm() && (perm == 0o644 || perm == 0o755) {
		return perm
	}
	return 0o600
}

// Give gives these rights to f, a new and empty file that was made with
// FirstMode, has fill write its content, and gives it mode. At no moment may
// anybody use f who may not use it in the end. The error is a *Lost, before
// fill was called, where one of the rights cannot be given, or it is fill's.
func (r *Rights) Give(f *os.File, mode fs.FileMode, fill func() error) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if err := giveOwner(f, now, r.info); err != nil {
		return &Lost{What: "its owner", Owner: true, Err: err}
	}
	moded, err := r.giveAttributes(f, mode)
	if err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	if !moded && now.Mode().Perm() == mode.Perm() {
		return nil // also on file systems that have no modes of their own
	}
	return f.Chmod(mode.Perm())
}

// kind is what is done with an attribute.
type kind int

const (
	kept     kind = iota // or the change is refused
	assigned             // where it cannot be kept, the new file has the one that the system assigned
	made                 // the system makes it of the content, or drops it with the content
)

// acl is the attribute with the access control list of a file.
const acl = "system.posix_acl_access"

// kindOf knows the attributes that are not simply kept.
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

// giveAttributes reports whether it changed the mode on the way. The new file may
// have attributes already: a label that the system assigned, and an access
// control list of its directory's.
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

// gone reports that an attribute is not there.
func gone(err error) bool { return errors.Is(err, errNone) }

// list names the attributes of f: none where the file system has none.
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

// calls are what the system does, for tests to put something else in its place.
type calls struct {
	list   func(f *os.File, into []byte) (int, error)
	get    func(f *os.File, name string, into []byte) (int, error)
	set    func(f *os.File, name string, value []byte) error
	remove func(f *os.File, name string) error
}
