package rights

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

var system = calls{
	list: func(f *os.File, into []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), into) },
	get: func(f *os.File, name string, into []byte) (int, error) {
		return unix.Fgetxattr(int(f.Fd()), name, into)
	},
	set: func(f *os.File, name string, value []byte) error {
		return unix.Fsetxattr(int(f.Fd()), name, value, 0)
	},
	remove: func(f *os.File, name string) error { return unix.Fremovexattr(int(f.Fd()), name) },
}

// sized calls read with a buffer that is large enough. The first one usually is.
func sized(read func(into []byte) (int, error)) ([]byte, error) {
	into := make([]byte, 512)
	for {
		n, err := read(into)
		if err == nil {
			return into[:n], nil
		}
		if !errors.Is(err, unix.ERANGE) {
			return nil, err
		}
		if n, err = read(nil); err != nil {
			return nil, err
		}
		into = make([]byte, max(n, len(into))+256)
	}
}

// The tags of an access control list's entries that the mode covers.
const (
	aclOwner, aclGroup, aclMask, aclOthers = 0x01, 0x04, 0x10, 0x20

	aclHead, aclEntry = 4, 8 // bytes
)

// withMode returns a list as chmod would leave it, so that list and mode are set in one step. A list of unknown
// form is returned unchanged.
func withMode(list []byte, mode fs.FileMode) []byte {
	if len(list) < aclHead || (len(list)-aclHead)%aclEntry != 0 || binary.LittleEndian.Uint32(list) != 2 {
		return list
	}
	perm := uint16(mode.Perm())
	list = append([]byte(nil), list...)
	var group, mask []byte
	for at := aclHead; at < len(list); at += aclEntry {
		rights := list[at+2 : at+4]
		switch binary.LittleEndian.Uint16(list[at:]) {
		case aclOwner:
			binary.LittleEndian.PutUint16(rights, perm>>6&7)
		case aclGroup:
			group = rights
		case aclMask:
			mask = rights
		case aclOthers:
			binary.LittleEndian.PutUint16(rights, perm&7)
		}
	}
	if mask != nil {
		group = mask
	}
	if group != nil {
		binary.LittleEndian.PutUint16(group, perm>>3&7)
	}
	return list
}

// groupOf returns the rights that a list gives the file's group, as mode bits.
func groupOf(list []byte) fs.FileMode {
	if len(list) < aclHead || (len(list)-aclHead)%aclEntry != 0 || binary.LittleEndian.Uint32(list) != 2 {
		return 0
	}
	group, mask := uint16(0), uint16(7)
	for at := aclHead; at < len(list); at += aclEntry {
		rights := binary.LittleEndian.Uint16(list[at+2:])
		switch binary.LittleEndian.Uint16(list[at:]) {
		case aclGroup:
			group = rights
		case aclMask:
			mask = rights
		}
	}
	return fs.FileMode(group&mask&7) << 3
}
