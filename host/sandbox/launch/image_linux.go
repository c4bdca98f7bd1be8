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

// machineBase is where the first part of a launcher's file is in memory, with
// the machine's instructions.
const machineBase address = 0x400000

// Sizes in an ELF file.
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

// image gives the script, and the machine with it, as an executable file.
func (s *script) image() []byte {
	ops := s.code() // completes the other parts
	segments := []segment{
		{opsBase, elf.PF_R, ops},
		{constantBase, elf.PF_R, s.constant},
		{stateBase, elf.PF_R | elf.PF_W, s.state},
	}
	const start = headerSize + 5*segmentSize
	file := elfHeader(start, len(segments)+2)
	add := func(kind elf.ProgType, part segment, offset int) {
		size := uint64(len(part.data))
		file, _ = binary.Append(file, binary.LittleEndian, elf.Prog64{
			Type: uint32(kind), Flags: uint32(part.flags), Off: uint64(offset), Vaddr: uint64(part.at), Filesz: size, Memsz: size,
			Align: uint64(os.Getpagesize()),
		})
	}
	add(elf.PT_GNU_STACK, segment{flags: elf.PF_R | elf.PF_W}, 0) // nobody executes there
	first := segment{machineBase, elf.PF_R | elf.PF_X, make([]byte, start+len(machineCode()))}
	add(elf.PT_LOAD, first, 0)
	offset := wholePages(len(first.data))
	for _, part := range segments {
		add(elf.PT_LOAD, part, offset)
		offset += wholePages(len(part.data))
	}
	file = append(file, machineCode()...)
	for _, part := range segments {
		file = append(file, make([]byte, wholePages(len(file))-len(file))...)
		file = append(file, part.data...)
	}
	return file
}

func elfHeader(start, segments int) []byte {
	machine := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_AARCH64
	}
	header, _ := binary.Append(nil, binary.LittleEndian, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Entry: uint64(machineBase) + uint64(start),
		Phoff: headerSize, Ehsize: headerSize, Phentsize: segmentSize, Phnum: uint16(segments),
	})
	return header
}

func wholePages(size int) int {
	page := os.Getpagesize()
	return (size + page - 1) / page * page
}

// executable makes a file without a name that can be executed through its
// descriptor: in memory, or where that is not allowed in a directory.
func executable(image []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(Name, unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 all could be executed
		fd, err = unix.MemfdCreate(Name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return executableOnDisk(image)
	}
	file := os.NewFile(uintptr(fd), Name)
	if _, err := file.Write(image); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// executableOnDisk makes it in the user's cache or in the directory for
// temporary files.
func executableOnDisk(image []byte) (file *os.File, err error) {
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

func executableIn(dir string, image []byte) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o700)
	if err != nil {
		return nil, &os.PathError{Op: "create a file in", Path: dir, Err: err}
	}
	writable := os.NewFile(uintptr(fd), dir)
	defer writable.Close()
	if _, err := writable.Write(image); err != nil {
		return nil, err
	}
	path := "/proc/self/fd/" + strconv.Itoa(fd)
	if err := unix.Access(path, unix.X_OK); err != nil {
		return nil, &os.PathError{Op: "execute files in", Path: dir, Err: err}
	}
	// What is open for writing cannot be executed.
	return os.OpenFile(path, os.O_RDONLY|syscall.O_CLOEXEC, 0)
}
