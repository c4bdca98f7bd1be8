package launch

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// The system calls of the newer mount interface, the same everywhere.
const (
	sysOpenTreeCall     = 428
	sysMoveMountCall    = 429
	sysMountSetattrCall = 442
	sysOpenat2Call      = 437
)

const (
	oPath          = 0x200000
	atFdcwd        = -100
	atEmptyPath    = 0x1000
	atRecursive    = 0x8000
	openTreeClone  = 1
	moveFromFd     = 0x4
	moveToFd       = 0x40
	attrReadOnly   = 0x1
	attrNoSuid     = 0x2
	attrNoDev      = 0x4
	noSymlinks     = 0x4 // RESOLVE_NO_SYMLINKS
	scratchMode    = "mode=1777"
	hiddenMode     = "mode=0755,size=1m"
	privateMounts  = syscall.MS_REC | syscall.MS_PRIVATE
	plainMount     = syscall.MS_NOSUID | syscall.MS_NODEV
	inertMount     = plainMount | syscall.MS_NOEXEC
	blankDirectory = "/dev/.blank"
	voidFile       = "/dev/.void"
)

// devices are the device files that a process sees.
var devices = [...]string{"null", "zero", "full", "random", "urandom", "tty"}

// tree is a part of the file system taken out of it, to be put somewhere.
type tree int

// takeTree copies the mounts below path. No symlink is followed on the way:
// whoever may write there must not choose what becomes visible.
func takeTree(path string) (tree, error) {
	at, err := pathWithoutLinks(path)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(at)
	fd, _, errno := syscall.Syscall(sysOpenTreeCall, uintptr(at), uintptr(unsafe.Pointer(&empty[0])),
		openTreeClone|atRecursive|atEmptyPath|syscall.O_CLOEXEC)
	if errno != 0 {
		return -1, failure("open_tree "+path, errno)
	}
	return tree(fd), nil
}

var empty = [1]byte{}

type openHow struct{ flags, mode, resolve uint64 }

func pathWithoutLinks(path string) (int, error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := openHow{flags: oPath | syscall.O_CLOEXEC, resolve: noSymlinks}
	cwd := atFdcwd
	fd, _, errno := syscall.Syscall6(sysOpenat2Call, uintptr(cwd), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno != 0 {
		return -1, &os.PathError{Op: "open", Path: path, Err: errno}
	}
	return int(fd), nil
}

// put mounts the tree at path and closes it.
func (t tree) put(path string) error {
	defer syscall.Close(int(t))
	at, err := pathWithoutLinks(path)
	if err != nil {
		return err
	}
	defer syscall.Close(at)
	none := uintptr(unsafe.Pointer(&empty[0]))
	_, _, errno := syscall.Syscall6(sysMoveMountCall, uintptr(t), none, uintptr(at), none, moveFromFd|moveToFd, 0)
	if errno != 0 {
		return failure("move_mount "+path, errno)
	}
	return nil
}

type mountAttr struct{ set, clear, propagation, userns uint64 }

// restrict sets attributes of mounts. at is a tree or the current directory.
func restrict(at int, path string, set uint64, flags uintptr) error {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	attr := mountAttr{set: set}
	_, _, errno := syscall.Syscall6(sysMountSetattrCall, uintptr(at), uintptr(unsafe.Pointer(name)),
		flags, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return failure("mount_setattr "+path, errno)
	}
	return nil
}

// arrange makes the view: everything read-only, then the changes. What the
// changes show is taken beforehand, while it is as it was.
func (p *Plan) arrange() error {
	if err := mount("", "/", "", privateMounts, ""); err != nil {
		return err
	}
	trees, err := p.take()
	if err != nil {
		return err
	}
	nodes, err := takeDevices()
	if err != nil {
		return err
	}
	if err := restrict(atFdcwd, "/", attrReadOnly|attrNoSuid|attrNoDev, atRecursive); err != nil {
		return err
	}
	if err := makeDev(nodes); err != nil {
		return err
	}
	// Files below /proc belong to the root user, whom no rights keep from
	// writing to them.
	if err := mount("proc", "/proc", "proc", inertMount|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	for i, change := range p.View {
		if err := p.apply(change, trees[i]); err != nil {
			return err
		}
	}
	return restrict(atFdcwd, "/dev", attrReadOnly, 0)
}

// take takes the trees that the changes need, -1 where none is needed.
func (p *Plan) take() ([]tree, error) {
	trees := make([]tree, len(p.View))
	for i, change := range p.View {
		trees[i] = -1
		if change.Kind != Writable && change.Kind != ReadOnly {
			continue
		}
		t, err := takeTree(change.Path)
		if err != nil {
			return nil, err
		}
		trees[i] = t
	}
	return trees, nil
}

func takeDevices() (nodes [len(devices)]tree, err error) {
	for i, name := range devices {
		if nodes[i], err = takeTree("/dev/" + name); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// makeDev makes a small /dev of its own, with a place for what hides files.
func makeDev(nodes [len(devices)]tree) error {
	if err := mount("tmpfs", "/dev", "tmpfs", syscall.MS_NOSUID|syscall.MS_NOEXEC, hiddenMode); err != nil {
		return err
	}
	for i, name := range devices {
		if err := touch("/dev/"+name, 0o666); err != nil {
			return err
		}
		if err := nodes[i].put("/dev/" + name); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/dev/pts", "/dev/shm", blankDirectory} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for from, to := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1",
		"/dev/stderr": "/proc/self/fd/2", "/dev/ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(to, from); err != nil {
			return err
		}
	}
	if err := touch(voidFile, 0o444); err != nil {
		return err
	}
	return mount("devpts", "/dev/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
}

// apply makes one change. A place that is gone by now needs no hiding.
func (p *Plan) apply(change Change, t tree) error {
	switch change.Kind {
	case Scratch:
		size := ",size=" + strconv.FormatInt(p.TmpSize, 10)
		return ignoreMissing("mount "+change.Path, mount("tmpfs", change.Path, "tmpfs", plainMount, scratchMode+size))
	case Hidden:
		return ignoreMissing("mount "+change.Path, mount("tmpfs", change.Path, "tmpfs", plainMount, hiddenMode))
	case Blank:
		return cover(blankDirectory, change.Path)
	case Void:
		return cover(voidFile, change.Path)
	}
	set := uint64(attrNoSuid | attrNoDev)
	if change.Kind == ReadOnly {
		set |= attrReadOnly
	}
	if err := restrict(int(t), "", set, atEmptyPath|atRecursive); err != nil {
		return err
	}
	if err := makePlace(change.Path, t); err != nil {
		return err
	}
	return t.put(change.Path)
}

// cover puts a read-only copy of something over path.
func cover(with, path string) error {
	t, err := takeTree(with)
	if err != nil {
		return err
	}
	if err := restrict(int(t), "", attrReadOnly|attrNoSuid|attrNoDev, atEmptyPath); err != nil {
		return err
	}
	return ignoreMissing("hide "+path, t.put(path))
}

// makePlace makes what a tree is to be put on, where hiding has removed it.
func makePlace(path string, t tree) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(t), &stat); err != nil {
		return failure("stat "+path, err)
	}
	if stat.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(parent(path), 0o755); err != nil {
		return err
	}
	return touch(path, 0o644)
}

func parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "/"
}

func touch(path string, mode uint32) error {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_WRONLY|syscall.O_CLOEXEC, mode)
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	return syscall.Close(fd)
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		return &os.PathError{Op: "mount " + kind + " on", Path: target, Err: err}
	}
	return nil
}
