package launch

import (
	"encoding/binary"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// absent and lower numbers stand for system calls that an architecture lacks.
const absent = -1

// Instructions of classic BPF.
const (
	opLoad      = 0x20 // A = the word at K of struct seccomp_data
	opAnd       = 0x54 // A &= K
	opJumpEqual = 0x15 // A == K
	opJumpAbove = 0x35 // A >= K
	opJumpSet   = 0x45 // A & K != 0
	opReturn    = 0x06
	opJump      = 0x05 // over K instructions
)

// Return values of a filter, and offsets in its input.
const (
	retAllow = 0x7fff0000
	retErrno = 0x00050000
	retKill  = 0x80000000
	retAsk   = 0x7fc00000 // ask the supervisor
	offNr    = 0
	offArch  = 4
	offArgs  = 16
)

const x32Bit = 0x40000000

// Values that arguments are compared with.
const (
	setIDs        = 0o6000
	createFlags   = 0o100 | 0o20000000 // O_CREAT, O_TMPFILE's own bit
	newNamespaces = 0x7e020000
	newTime       = 0x80
	typeMask      = 0o170000
	charDevice    = 0o020000
	blockDevice   = 0o060000
	tiocsti       = 0x5412
	tioclinux     = 0x541c
	personalityAs = 0xffffffff // asks for the personality
)

type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

const instructionSize = 8

type program []instruction

// rules are a filter under construction: the first rule for each system call.
type rules []rule

// rule is the program for one system call. body must return.
type rule struct {
	nr   int
	body []instruction
}

func ret(k uint32) instruction       { return instruction{code: opReturn, k: k} }
func refuse(e syscall.Errno) uint32  { return retErrno | uint32(e) }
func load(offset uint32) instruction { return instruction{code: opLoad, k: offset} }
func loadArg(n uint32) instruction   { return load(offArgs + 8*n) }
func jumpSet(k uint32) instruction   { return instruction{code: opJumpSet, jf: 1, k: k} }
func jumpEqual(k uint32) instruction { return instruction{code: opJumpEqual, jf: 1, k: k} }
func on(nr int, skip uint8) instruction {
	return instruction{code: opJumpEqual, jf: skip, k: uint32(nr)}
}

func (p *rules) refuse(e syscall.Errno, numbers ...int) {
	for _, nr := range numbers {
		p.add(nr, ret(refuse(e)))
	}
}

func (p *rules) add(nr int, body ...instruction) {
	if nr > absent {
		*p = append(*p, rule{nr, body})
	}
}

// refuseBits adds a rule that fails if argument arg has one of bits.
func (p *rules) refuseBits(nr int, arg, bits, otherwise uint32) {
	p.add(nr, loadArg(arg), jumpSet(bits), ret(refuse(syscall.EPERM)), ret(otherwise))
}

func (f Filter) compile() program {
	p := program{
		load(offArch),
		{code: opJumpEqual, jt: 1, k: auditArch}, ret(retKill),
		load(offNr),
		{code: opJumpAbove, jf: 1, k: x32Bit}, ret(refuse(syscall.ENOSYS)),
	}
	return append(p, f.rules().tree()...)
}

func (f Filter) rules() rules {
	var p rules
	p.refuseMachine()
	p.refuseProcesses()
	p.attributes(f.Attributes, f.Guard)
	p.requests(f.Attributes)
	if !f.Others {
		p.others()
	}
	p.creation(f.Guard)
	if !f.SysV {
		p.refuse(syscall.EPERM, sysShmget, sysShmat, sysShmctl, sysMsgget, sysMsgsnd, sysMsgrcv, sysMsgctl,
			sysSemget, sysSemop, sysSemtimedop, sysSemctl, sysMqOpen, sysMqUnlink)
	}
	p.sockets(f)
	slices.SortStableFunc(p, func(a, b rule) int { return a.nr - b.nr })
	return p
}

// fewRules is how many are compared linearly.
const fewRules = 4

// tree compiles sorted rules into a binary search for the number in A: every system call pays for the filter.
func (p rules) tree() program {
	if len(p) <= fewRules {
		var code program
		for _, r := range p {
			code = append(append(code, on(r.nr, uint8(len(r.body)))), r.body...)
		}
		return append(code, ret(retAllow))
	}
	middle := len(p) / 2
	low, high := p[:middle].tree(), p[middle:].tree()
	code := program{
		{code: opJumpAbove, jf: 1, k: uint32(p[middle].nr)},
		{code: opJump, k: uint32(len(low))},
	}
	return append(append(code, low...), high...)
}

// refuseMachine refuses what changes the machine or the view of it.
func (p *rules) refuseMachine() {
	p.refuse(syscall.EPERM,
		sysMount, sysUmount2, sysPivotRoot, sysChroot, sysOpenTree, sysOpenTreeAttr, sysMoveMount, sysFsopen,
		sysFsconfig,
		sysFsmount, sysFspick, sysMountSetattr, sysKexecLoad, sysKexecFileLoad, sysInitModule, sysFinitModule,
		sysDeleteModule,
		sysSwapon, sysSwapoff, sysReboot, sysSethostname, sysSetdomainname, sysAcct, sysQuotactl, sysQuotactlFd,
		sysSettimeofday, sysClockSettime, sysIopl, sysIoperm, sysNameToHandleAt, sysOpenByHandleAt, sysVhangup,
		sysSyslog,
		sysFanotifyInit, sysLookupDcookie, sysUselib, sysUstat, sysNfsservctl, sysModifyLdt, sysSysctl)
}

// refuseProcesses refuses what reaches into other processes, makes namespaces, or opens large, rarely needed
// parts of the kernel. After ENOSYS the C library uses an older call whose arguments a filter can see.
func (p *rules) refuseProcesses() {
	p.refuse(syscall.EPERM,
		sysPtrace, sysProcessVmReadv, sysProcessVmWritev, sysProcessMadvise, sysKcmp, sysPidfdGetfd, sysKeyctl,
		sysAddKey,
		sysRequestKey, sysBpf, sysPerfEventOpen, sysSetns, sysUserfaultfd)
	p.refuse(syscall.ENOSYS, sysIoUringSetup, sysIoUringEnter, sysIoUringRegister, sysClone3, sysFileSetattr)
	p.refuseBits(sysClone, 0, newNamespaces, retAllow)
	p.refuseBits(sysUnshare, 0, newNamespaces|newTime, retAllow)
	p.add(sysPersonality, loadArg(0), jumpEqual(0), ret(retAllow),
		jumpEqual(personalityAs), ret(retAllow), ret(refuse(syscall.EPERM)))
}

// attributes allows changing modes, owners, times and extended attributes, or hands over to the supervisor. Set-ID
// bits are never set.
func (p *rules) attributes(allow, guard bool) {
	if allow {
		then := uint32(retAllow)
		if guard {
			then = retAsk
		}
		p.refuseBits(sysChmod, 1, setIDs, then)
		p.refuseBits(sysFchmod, 1, setIDs, then)
		p.refuseBits(sysFchmodat, 2, setIDs, then)
		p.refuseBits(sysFchmodat2, 2, setIDs, then)
	} else {
		p.ask(sysChmod, sysFchmod, sysFchmodat, sysFchmodat2, sysChown, sysFchown, sysLchown, sysFchownat,
			sysUtime, sysUtimes, sysFutimesat, sysUtimensat)
	}
	if guard || !allow { // an access control list has the mode
		p.ask(sysSetxattr, sysLsetxattr, sysFsetxattr, sysRemovexattr, sysLremovexattr, sysFremovexattr)
		p.refuse(syscall.ENOSYS, sysSetxattrat, sysRemovexattrat)
	}
}

func (p *rules) ask(numbers ...int) {
	for _, nr := range numbers {
		p.add(nr, ret(retAsk))
	}
}

// creation refuses new devices and files with set-ID bits, or hands over to the supervisor all that makes, changes
// or removes a file.
func (p *rules) creation(guard bool) {
	p.refuse(syscall.ENOSYS, sysOpenat2)
	if guard {
		p.ask(append(fileCalls[:], sysCreat)...)
		p.add(sysOpen, loadArg(1), jumpSet(writing|tmpfileBit), ret(retAsk), ret(retAllow))
		p.add(sysOpenat, loadArg(2), jumpSet(writing|tmpfileBit), ret(retAsk), ret(retAllow))
		return
	}
	p.refuseBits(sysCreat, 1, setIDs, retAllow)
	p.create(sysOpen, 1, 2)
	p.create(sysOpenat, 2, 3)
	p.node(sysMknod, 1)
	p.node(sysMknodat, 2)
}

func (p *rules) create(nr int, flags, mode uint32) {
	p.add(nr, loadArg(flags), jumpSet(createFlags), instruction{code: opJump, k: 1}, ret(retAllow),
		loadArg(mode), jumpSet(setIDs), ret(refuse(syscall.EPERM)), ret(retAllow))
}

func (p *rules) node(nr int, mode uint32) {
	p.add(nr, loadArg(mode), jumpSet(setIDs), ret(refuse(syscall.EPERM)),
		instruction{code: opAnd, k: typeMask}, jumpEqual(charDevice), ret(refuse(syscall.EPERM)),
		jumpEqual(blockDevice), ret(refuse(syscall.EPERM)), ret(retAllow))
}

const (
	familyUnix, familyInet, familyInet6, familyNetlink = 1, 2, 10, 16
	typeBits, typeStream, typeDatagram                 = 0xf, 1, 2
	protoRoute                                         = 0
)

// protocols of internet sockets: default, ICMP (unprivileged ping), TCP, UDP, ICMPv6. Not MPTCP, SCTP and raw.
var protocols = [...]uint32{0, 1, 6, 17, 58}

func (p *rules) sockets(f Filter) {
	p.add(sysSocketpair, loadArg(0), jumpEqual(familyUnix), ret(retAllow), ret(refuse(syscall.EAFNOSUPPORT)))
	body := []instruction{loadArg(0)}
	add := func(more ...instruction) { body = append(body, more...) }
	if f.Unix {
		add(jumpEqual(familyUnix), ret(retAllow))
	}
	if f.Route {
		add(instruction{code: opJumpEqual, jf: 4, k: familyNetlink},
			loadArg(2), jumpEqual(protoRoute), ret(retAllow), ret(refuse(syscall.EACCES)))
	}
	if f.Inet {
		check := internetSocket()
		add(instruction{code: opJumpEqual, jt: 1, k: familyInet},
			instruction{code: opJumpEqual, jf: uint8(len(check)), k: familyInet6})
		add(check...)
	}
	add(jumpEqual(familyUnix), ret(refuse(syscall.EACCES)), jumpEqual(familyInet), ret(refuse(syscall.EACCES)),
		jumpEqual(familyInet6), ret(refuse(syscall.EACCES)), ret(refuse(syscall.EAFNOSUPPORT)))
	p.add(sysSocket, body...)
}

func internetSocket() []instruction {
	check := []instruction{
		loadArg(1), {code: opAnd, k: typeBits},
		{code: opJumpEqual, jt: 2, k: typeStream}, {code: opJumpEqual, jt: 1, k: typeDatagram},
		ret(refuse(syscall.EPERM)), loadArg(2),
	}
	for _, protocol := range protocols {
		check = append(check, jumpEqual(protocol), ret(retAllow))
	}
	return append(check, ret(refuse(syscall.EPROTONOSUPPORT)))
}

var compiled sync.Map // of []byte, by Filter

func (f Filter) bytes() []byte {
	data, made := compiled.Load(f)
	if !made {
		data, _ = compiled.LoadOrStore(f, f.compile().bytes())
	}
	return data.([]byte)
}

func (p program) bytes() []byte {
	data := make([]byte, 0, instructionSize*len(p))
	for _, in := range p {
		data = binary.NativeEndian.AppendUint16(data, in.code)
		data = append(data, in.jt, in.jf)
		data = binary.NativeEndian.AppendUint32(data, in.k)
	}
	return data
}

// CallsRepeat reports whether the kernel may lose an answer of the supervisor on a signal: the program then
// repeats its call.
func CallsRepeat() bool { return listenerFlags()&unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV == 0 }

// listenerFlags are the flags of a filter with a listener. Before Linux 6.0 the kernel cannot keep signals from
// a call that is being answered: it is repeated, and the supervisor keeps its answer for that.
var listenerFlags = sync.OnceValue(func() int {
	const plain, uninterrupted = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	// The kernel checks the flags first, then fails for lack of a filter.
	_, _, errno := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, plain|uninterrupted, 0)
	if errno == syscall.EINVAL {
		return plain
	}
	return plain | uninterrupted
})

// installFilter installs the filter. With a supervisor, the listener goes to the host.
func (p *Plan) installFilter(s *script) {
	code := p.Filter.bytes()
	program := s.words(uint64(len(code)/instructionSize), uint64(s.data(code))) // struct sock_fprog
	if p.Supervisor == 0 {
		s.call(InstallFilter, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, program)
		return
	}
	// A message with one byte and the listener, as in sendmsg(2).
	rights := s.buffer(appendWords(nil, unix.SizeofCmsghdr+4, unix.SOL_SOCKET|unix.SCM_RIGHTS<<32, 0))
	listener := cell(rights + unix.SizeofCmsghdr)
	content := s.words(uint64(s.data([]byte{0})), 1)
	message := s.words(0, 0, uint64(content), 1, uint64(rights), unix.SizeofCmsghdr+8, 0)
	s.call(InstallFilter, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listenerFlags(), program).into(listener)
	s.call("hand over the listener", unix.SYS_SENDMSG, p.Supervisor, message, unix.MSG_NOSIGNAL)
	s.close(listener)
	s.try(unix.SYS_CLOSE, p.Supervisor)
}
