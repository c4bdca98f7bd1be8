package launch

import (
	"errors"
	"syscall"
	"unsafe"
)

// Landlock's system calls, the same on every architecture.
const (
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446
)

// Landlock's rights to files.
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

// MinimumABI is the oldest Landlock that keeps files from being written, cut
// and moved. UnixABI confines unix sockets with a path, ScopeABI signals and
// abstract unix sockets.
const (
	MinimumABI = 3
	ScopeABI   = 6
	UnixABI    = 9
)

// LandlockABI is the version of Landlock that the kernel offers, 0 for none.
func LandlockABI() int {
	abi, _, errno := syscall.Syscall(sysLandlockCreateRuleset, 0, 0, 1)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// fsHandled are all rights that Landlock of version abi knows.
func fsHandled(abi int) uint64 {
	switch {
	case abi >= UnixABI:
		return 1<<17 - 1
	case abi >= 5:
		return 1<<16 - 1
	default:
		return 1<<15 - 1
	}
}

type rulesetAttr struct{ fs, net, scoped uint64 }

type pathBeneath struct {
	access uint64
	fd     int32
}

// landlock confines the calling thread to what the plan grants.
func (p *Plan) landlock() error {
	fd := p.Ruleset
	if fd == 0 {
		var err error
		if fd, err = p.NewRuleset(); err != nil {
			return err
		}
	}
	defer syscall.Close(fd)
	if _, _, errno := syscall.Syscall(sysLandlockRestrictSelf, uintptr(fd), 0, 0); errno != 0 {
		return failure("landlock_restrict_self", errno)
	}
	return nil
}

// NewRuleset makes a Landlock ruleset of what the plan grants, and gives its
// descriptor.
func (p *Plan) NewRuleset() (int, error) {
	abi := LandlockABI()
	if abi < MinimumABI {
		return -1, failure("this kernel has no Landlock, or one that is too old", syscall.ENOSYS)
	}
	attr := rulesetAttr{fs: fsHandled(abi)}
	size := unsafe.Sizeof(attr)
	if abi >= ScopeABI {
		attr.scoped = scopeAll
	} else {
		size = unsafe.Offsetof(attr.scoped)
	}
	fd, _, errno := syscall.Syscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, failure("landlock_create_ruleset", errno)
	}
	if err := p.grant(int(fd), attr.fs); err != nil {
		_ = syscall.Close(int(fd))
		return -1, err
	}
	return int(fd), nil
}

func (p *Plan) grant(ruleset int, handled uint64) error {
	if p.List {
		if err := addRule(ruleset, "/", fsReadDir); err != nil {
			return err
		}
	}
	for _, path := range p.Read {
		if err := addRule(ruleset, path, fsRead); err != nil {
			return err
		}
	}
	everything := handled &^ (fsMakeChar | fsMakeBlock | fsIoctlDev)
	for _, path := range p.Write {
		if err := addRule(ruleset, path, everything); err != nil {
			return err
		}
	}
	for _, path := range p.Device {
		if err := addRule(ruleset, path, (fsReadFile|fsWriteFile|fsReadDir|fsIoctlDev)&handled); err != nil {
			return err
		}
	}
	return nil
}

// addRule grants access below path. What is gone by now needs no rule.
func addRule(ruleset int, path string, access uint64) error {
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ignoreMissing("open "+path, err)
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
	_, _, errno := syscall.Syscall6(sysLandlockAddRule, uintptr(ruleset), rulePath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return failure("landlock rule for "+path, errno)
	}
	return nil
}

// ignoreMissing passes over places that are gone or out of reach: there is
// nothing to grant or to hide.
func ignoreMissing(what string, err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.As(err, &errno) && (errno == syscall.ENOENT || errno == syscall.EACCES || errno == syscall.ENOTDIR):
		return nil
	}
	return failure(what, err)
}
