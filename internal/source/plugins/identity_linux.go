package plugins

import (
	"os"
	"syscall"
)

// identity identifies a file's state without reading it. The file's owner cannot set the change time.
type identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Size   int64  `json:"size"`
	MTime  int64  `json:"mtime"` // nanoseconds since 1970
	CTime  int64  `json:"ctime"`
}

func identify(f *os.File) (identity, error) {
	info, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	return identityOf(info), nil
}

func identityOf(info os.FileInfo) identity {
	id := identity{Size: info.Size(), MTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.Device, id.Inode, id.CTime = uint64(st.Dev), st.Ino, st.Ctim.Nano()
	}
	return id
}

// strong reports whether equal identities mean equal content.
func (id identity) strong() bool { return id.CTime != 0 }

// changed returns the latest time in id.
func (id identity) changed() int64 { return max(id.MTime, id.CTime) }
