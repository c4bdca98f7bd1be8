package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Kinds of ioctl(2) requests, and requests, that change metadata through a descriptor for reading: flags,
// generations, encryption, layouts. Landlock does not cover them. On Btrfs they also copy whole trees with all
// that a view hides.
const (
	kindMask   = 0xff00
	kindBtrfs  = 0x9400
	directions = 0xc0000000
	onlyReads  = 0x80000000
)

var (
	attributeKinds = [...]uint32{'f' << 8, 'X' << 8, 'v' << 8, 'r' << 8, 0xf5 << 8 /* F2FS */, 0x97 << 8, /* Ceph */
		0xcf << 8 /* SMB */}
	sharingData = [...]uint32{unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE}
	mapping     = [...]uint32{0xc020660b /* FS_IOC_FIEMAP */, 0xc0606610, /* PAGEMAP_SCAN */
		0xc0686611 /* PROCMAP_QUERY */}
)

// requests refuses requests to terminals and file systems, and leases, which block others from a file. With
// attributes the view confines the flags of files.
func (p *rules) requests(attributes bool) {
	body := []instruction{
		loadArg(1), jumpEqual(tiocsti), ret(refuse(syscall.EPERM)), jumpEqual(tioclinux), ret(refuse(syscall.EPERM)),
	}
	add := func(more ...instruction) { body = append(body, more...) }
	for _, request := range sharingData {
		add(jumpEqual(request), ret(retAllow))
	}
	if !attributes {
		for _, request := range mapping {
			add(jumpEqual(request), ret(retAllow))
		}
		add(instruction{code: opAnd, k: directions}, jumpEqual(onlyReads), ret(retAllow), loadArg(1))
	}
	add(instruction{code: opAnd, k: kindMask}, jumpEqual(kindBtrfs), ret(refuse(syscall.EPERM)))
	if !attributes {
		for _, kind := range attributeKinds {
			add(jumpEqual(kind), ret(refuse(syscall.EPERM)))
		}
	}
	p.add(sysIoctl, append(body, ret(retAllow))...)
	p.add(sysFcntl, loadArg(1), jumpEqual(unix.F_SETLEASE), ret(refuse(syscall.EPERM)), ret(retAllow))
}

// others refuses changing limits, priorities and processors of a process by its number, where no PID namespace
// hides those outside. 0 is the caller.
func (p *rules) others() {
	if0 := func(arg uint32) []instruction { return []instruction{loadArg(arg), jumpEqual(0), ret(retAllow)} }
	refused := ret(refuse(syscall.EPERM))
	for _, nr := range []int{sysSchedAffinity, sysSchedScheduler, sysSchedParam, sysSchedAttr, sysMigratePages} {
		p.add(nr, append(if0(0), refused)...)
	}
	// New limits are at the address in argument 2, of two words.
	p.add(sysPrlimit64, append(if0(0), loadArg(2), instruction{code: opJumpEqual, jf: 3, k: 0},
		load(offArgs+8*2+4), jumpEqual(0), ret(retAllow), refused)...)
	const process, group, ioProcess, ioGroup = 0, 1, 1, 2
	p.add(sysSetpriority, append(either(process, group), append(if0(1), refused)...)...)
	p.add(sysIoprioSet, append(either(ioProcess, ioGroup), append(if0(1), refused)...)...)
}

// either refuses all but two values of the first argument.
func either(one, other uint32) []instruction {
	return []instruction{
		loadArg(0), {code: opJumpEqual, jt: 2, k: one}, {code: opJumpEqual, jt: 1, k: other},
		ret(refuse(syscall.EPERM)),
	}
}
