//go:build !linux

package plugins

import "os"

// identity tells one state of a file from any other, as far as size and
// modification time do.
type identity struct {
	Size  int64 `json:"size"`
	MTime int64 `json:"mtime"` // nanoseconds since 1970
}

func identify(f *os.File) (identity, error) {
	info, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	return identityOf(info), nil
}

func identityOf(info os.FileInfo) identity {
	return identity{Size: info.Size(), MTime: info.ModTime().UnixNano()}
}

// strong reports whether an equal identity means an equal content. It does
// not here: anybody can set a modification time.
func (identity) strong() bool { return false }

// changed is the latest time that id names.
func (id identity) changed() int64 { return id.MTime }

// words is id as numbers, for identityFrom.
func (id identity) words() []int64 { return []int64{id.Size, id.MTime} }

// identityFrom is the opposite of words. Numbers that are none give one that
// equals no file's.
func identityFrom(w []int64) identity {
	if len(w) != 2 {
		return identity{Size: -1}
	}
	return identity{Size: w[0], MTime: w[1]}
}
