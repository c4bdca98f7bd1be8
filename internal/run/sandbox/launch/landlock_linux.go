package launch

import (
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's system calls, the same on every architecture.
const (
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446
)

const (
	fsExecute    = 1 << 0
	fsWriteFile  = 1 << 1
	fsReadFile   = 1 << 2
	fsReadDir    = 1 << 3
	fsRefer      = 1 << 13
	fsTruncate   = 1 << 14
	fsIoctlDev   = 1 << 15
	fsUnix       = 1 << 16
	fsMakeChar   = 1 << 6
	fsMakeBlock  = 1 << 11
	fsRead       = fsExecute | fsReadFile | fsReadDir
	fsFileRights = fsExecute | fsWriteFile | fsReadFile | fsTruncate | fsIoctlDev
	scopeAll     = 1<<0 | 1<<1 // abstract unix sockets, signals
	rulePath     = 1
)

// Versions of Landlock. From referABI on a confined process may move files between directories, TruncateABI
// confines truncating, ScopeABI signals and abstract unix sockets, UnixABI unix sockets with a path.
const (
	referABI    = 2
	TruncateABI = 3
	ScopeABI    = 6
	UnixABI     = 9
)

// LandlockABI returns the kernel's version of Landlock; 0 if it has none, which LandlockMissing explains.
func LandlockABI() int {
	abi, _ := landlockVersion()
	return abi
}

// LandlockMissing returns why the kernel offers no Landlock: ENOSYS if it lacks it, EOPNOTSUPP if it was not
// enabled at boot, another error, mostly EPERM, if a filter around this process refuses it, 0 if there is
// Landlock.
func LandlockMissing() syscall.Errno {
	_, errno := landlockVersion()
	return errno
}

func landlockVersion() (abi int, errno syscall.Errno) {
	version, _, errno := syscall.Syscall(sysLandlockCreateRuleset, 0, 0, 1)
	if errno != 0 {
		return 0, errno
	}
	return int(version), 0
}

// fsHandled returns all rights that Landlock of version abi knows.
func fsHandled(abi int) uint64 {
	switch {
	case abi >= UnixABI:
		return 1<<17 - 1
	case abi >= 5:
		return 1<<16 - 1
	case abi >= TruncateABI:
		return 1<<15 - 1
	case abi >= referABI:
		return 1<<14 - 1
	default:
		return 1<<13 - 1
	}
}

type rulesetAttr struct{ fs, net, scoped uint64 }

type pathBeneath struct {
	access uint64
	fd     int32
}

// landlock confines the launcher to what the plan grants: by the host's ruleset, or by one made inside, where
// the view is. A view confines without Landlock too, by read-only mounts, and does without Landlock 1, under
// which nothing may be moved between directories.
func (p *Plan) landlock(s *script) {
	if p.Ruleset != 0 {
		s.call("landlock_restrict_self", sysLandlockRestrictSelf, p.Ruleset, 0)
		s.try(unix.SYS_CLOSE, p.Ruleset)
		return
	}
	abi := LandlockABI()
	if abi < referABI {
		return
	}
	attr, size := p.handles(abi)
	ruleset := s.cell()
	s.call("landlock_create_ruleset", sysLandlockCreateRuleset, s.words(attr.fs, attr.net, attr.scoped), int(size),
		0).into(ruleset)
	for _, grant := range p.grants(attr.fs) {
		s.addRule(ruleset, grant)
	}
	s.call("landlock_restrict_self", sysLandlockRestrictSelf, ruleset, 0)
	s.close(ruleset)
}

// addRule adds a rule. A missing path needs none.
func (s *script) addRule(ruleset cell, g grant) {
	access := g.access
	if info, err := os.Stat(g.path); err == nil && !info.IsDir() {
		access &= fsFileRights
	}
	var next label
	rule := s.buffer(appendWords(nil, access, 0)) // struct landlock_path_beneath_attr
	fd := cell(rule + 8)
	s.call("open "+g.path, unix.SYS_OPENAT, unix.AT_FDCWD, g.path, unix.O_PATH|unix.O_CLOEXEC).into(fd).orElse(&next,
		gone...)
	s.call("landlock rule for "+g.path, sysLandlockAddRule, ruleset, rulePath, rule, 0)
	s.close(fd)
	s.here(&next)
}

type grant struct {
	path   string
	access uint64
	// follow is for paths on which only the system puts symlinks.
	follow bool
}

// open opens the path with O_PATH, without symlinks: a user who may write on the way must not choose what is
// granted.
func (g grant) open() (int, syscall.Errno) {
	if g.follow {
		return openDescriptor(g.path)
	}
	fd, errno := openPath(unix.AT_FDCWD, g.path, 0, unix.RESOLVE_NO_SYMLINKS)
	if errno != syscall.ENOSYS {
		return fd, errno
	}
	if fd, errno = openDescriptor(g.path); errno != 0 {
		return fd, errno
	}
	if at, ok := nameOf(fd); !ok || at != g.path {
		_ = syscall.Close(fd)
		return -1, syscall.ELOOP
	}
	return fd, 0
}

func (p *Plan) grants(handled uint64) (grants []grant) {
	if p.List {
		grants = append(grants, grant{"/", fsReadDir, false})
	}
	add := func(paths []string, access uint64, follow bool) {
		for _, path := range paths {
			grants = append(grants, grant{path, access & handled, follow})
		}
	}
	add(p.Read, fsRead, false)
	add(p.Write, handled&^(fsMakeChar|fsMakeBlock|fsIoctlDev), false)
	add(p.Device, fsReadFile|fsWriteFile|fsReadDir|fsIoctlDev, true)
	return grants
}

// handles returns the rights that a ruleset of the plan handles, and the size of the struct.
func (p *Plan) handles(abi int) (attr rulesetAttr, size uintptr) {
	attr.fs = fsHandled(abi)
	if p.Namespaces {
		// All of the view is readable, and mounts prevent truncation. If Landlock handled either, the kernel
		// would check every directory above each file opened.
		attr.fs &^= fsRead | fsTruncate
	}
	if abi < ScopeABI {
		return attr, unsafe.Offsetof(attr.scoped)
	}
	attr.scoped = scopeAll
	return attr, unsafe.Sizeof(attr)
}

// NewRuleset makes a Landlock ruleset of the plan's grants and returns its descriptor.
func (p *Plan) NewRuleset() (int, error) {
	abi, errno := landlockVersion()
	if errno != 0 {
		return -1, failure("landlock_create_ruleset", errno)
	}
	attr, size := p.handles(abi)
	fd, _, errno := syscall.Syscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, failure("landlock_create_ruleset", errno)
	}
	for _, grant := range p.grants(attr.fs) {
		if err := addRule(int(fd), grant); err != nil {
			_ = syscall.Close(int(fd))
			return -1, err
		}
	}
	return int(fd), nil
}

// addRule grants access below a path. A missing path needs none.
func addRule(ruleset int, g grant) error {
	path, access := g.path, g.access
	fd, errno := g.open()
	if slices.Contains(gone, errno) {
		return nil
	}
	if errno != 0 {
		return failure("open "+path, errno)
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return failure("stat "+path, err)
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		access &= fsFileRights
	}
	rule := pathBeneath{access: access, fd: int32(fd)}
	_, _, errno = syscall.Syscall6(sysLandlockAddRule, uintptr(ruleset), rulePath, uintptr(unsafe.Pointer(&rule)), 0,
		0, 0)
	if errno != 0 {
		return failure("landlock rule for "+path, errno)
	}
	return nil
}
