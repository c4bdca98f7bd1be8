package workspace

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"github.com/toolhost/toolhost/host/tool"
)

const openFlags = os.O_RDONLY

// inPlace is off, since links cannot tell.
const inPlace = false

// links counts the names of a file, which is not known from its FileInfo here.
func links(fs.FileInfo) uint64 { return 1 }

// mostOpen is more files than anything here opens.
func mostOpen() int { return math.MaxInt }

// keepOwner does nothing: a new file has the owner that its directory gives.
func keepOwner(f *os.File, now, old fs.FileInfo) {}

// mayWrite looks at the read-only attribute.
func (p *place) mayWrite() error {
	if p.info.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return nil
}

// openName opens name in the place's directory.
func (p *place) openName(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return p.dir.OpenFile(name, flag, mode)
}

// contents reads the regular file at the place.
func (h *held) contents() ([]byte, error) {
	data, _, err := h.readOld()
	return data, err
}

// renameAt renames inside one tree.
func renameAt(from *place, to *place, replace bool) error {
	if from.tree != to.tree {
		return tool.Errorf(tool.Unsupported, "%s and %s are in different trees", from.given, to.given).
			Suggest("Copy the file and remove the old one.")
	}
	if !replace {
		if _, err := to.dir.Lstat(to.name); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fs.ErrExist)
		}
	}
	return from.tree.root.Rename(from.rel, to.rel)
}

// exchange is for systems that can make two files change names.
func exchange(*place, string) error { return errors.ErrUnsupported }
