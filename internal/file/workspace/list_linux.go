package workspace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// direntHeader is the size before the name in a getdents64 entry: inode (8), offset (8), record length (2), type
// (1).
const direntHeader = 19

// list reads the directory f and stops soon after limit entries (0: none). File types come from the directory
// itself: File.ReadDir stats each file again if the directory was opened through a Root.
func list(f *os.File, limit int) (items []item, err error) {
	buf := make([]byte, 16<<10)
	for limit == 0 || len(items) <= limit {
		n, err := unix.Getdents(int(f.Fd()), buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return items, err
		}
		items = parseDirents(buf[:n], items)
	}
	return items, nil
}

func parseDirents(buf []byte, items []item) []item {
	for len(buf) >= direntHeader {
		size := int(binary.NativeEndian.Uint16(buf[16:]))
		if size < direntHeader || size > len(buf) {
			return items
		}
		record := buf[:size]
		buf = buf[size:]
		name, _, _ := bytes.Cut(record[direntHeader:], []byte{0})
		if s := string(name); s != "." && s != ".." && s != "" {
			items = append(items, item{name: s, mode: direntMode(record[18])})
		}
	}
	return items
}

// direntMode returns the file type, ModeIrregular if the file system does not say.
func direntMode(kind byte) fs.FileMode {
	switch kind {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_FIFO:
		return fs.ModeNamedPipe
	case unix.DT_SOCK:
		return fs.ModeSocket
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.DT_BLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}
