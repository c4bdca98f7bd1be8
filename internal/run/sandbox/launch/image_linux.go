package launch

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// machineBase is the address of the first part of a launcher's file, the instructions of machine.
const machineBase address = 0x400000

// Sizes of the headers in an ELF file: that of the file, and that of a segment.
const (
	headerSize  = 64
	segmentSize = 56
)

// segment is a part of the launcher's memory.
type segment struct {
	at    address
	flags elf.ProgFlag
	data  []byte
}

// image returns the script and the machine as the parts of an executable file, each starting on a page.
func (s *script) image() [][]byte {
	ops := s.encode() // completes the other parts
	segments := []segment{
		{opsBase, elf.PF_R, ops},
		{constantBase, elf.PF_R, s.constant},
		{stateBase, elf.PF_R | elf.PF_W, s.state},
	}
	const start = headerSize + 5*segmentSize
	head := elfHeader(start, len(segments)+2)
	add := func(kind elf.ProgType, part segment, size, offset int) {
		head, _ = binary.Append(head, binary.LittleEndian, elf.Prog64{
			Type: uint32(kind), Flags: uint32(part.flags), Off: uint64(offset), Vaddr: uint64(part.at),
			Filesz: uint64(size), Memsz: uint64(size), Align: uint64(os.Getpagesize()),
		})
	}
	add(elf.PT_GNU_STACK, segment{flags: elf.PF_R | elf.PF_W}, 0, 0) // the stack is not executable
	offset := start + len(machineCode())
	add(elf.PT_LOAD, segment{at: machineBase, flags: elf.PF_R | elf.PF_X}, offset, 0)
	for _, part := range segments {
		offset = wholePages(offset)
		add(elf.PT_LOAD, part, len(part.data), offset)
		offset += len(part.data)
	}
	return [][]byte{append(head, machineCode()...), ops, s.constant, s.state}
}

func elfHeader(start, segments int) []byte {
	machine := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_AARCH64
	}
	header, _ := binary.Append(nil, binary.LittleEndian, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
			byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Entry: uint64(machineBase) + uint64(start),
		Phoff: headerSize, Ehsize: headerSize, Phentsize: segmentSize, Phnum: uint16(segments),
	})
	return header
}

func wholePages(size int) int {
	page := os.Getpagesize()
	return (size + page - 1) / page * page
}

// executable makes an unnamed file that can be executed through its descriptor: in memory, or, where the system
// forbids that, in a directory.
func executable(image [][]byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(Name, unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 all are executable
		fd, err = unix.MemfdCreate(Name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return executableOnDisk(image)
	}
	file := os.NewFile(uintptr(fd), Name)
	if err := writeParts(file, image); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func writeParts(file *os.File, parts [][]byte) error {
	offset := 0
	for _, part := range parts {
		if _, err := file.WriteAt(part, int64(offset)); err != nil {
			return err
		}
		offset = wholePages(offset + len(part))
	}
	return nil
}

// executableOnDisk makes the file in the user's cache or the temporary directory.
func executableOnDisk(image [][]byte) (file *os.File, err error) {
	dirs := []string{os.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append([]string{filepath.Join(cache, "toolhost")}, dirs...)
	}
	for _, dir := range dirs {
		_ = os.MkdirAll(dir, 0o700)
		if file, err = executableIn(dir, image); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// ExecuteIn is the Op of an *os.PathError for a directory that was to hold the launcher but is mounted noexec.
const ExecuteIn = "execute files in"

func executableIn(dir string, image [][]byte) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o700)
	if err != nil {
		return nil, &os.PathError{Op: "create a file in", Path: dir, Err: err}
	}
	writable := os.NewFile(uintptr(fd), dir)
	defer writable.Close()
	if err := writeParts(writable, image); err != nil {
		return nil, err
	}
	path := "/proc/self/fd/" + strconv.Itoa(fd)
	if err := unix.Access(path, unix.X_OK); err != nil {
		return nil, &os.PathError{Op: ExecuteIn, Path: dir, Err: err}
	}
	// A file open for writing cannot be executed.
	return os.OpenFile(path, os.O_RDONLY|syscall.O_CLOEXEC, 0)
}
