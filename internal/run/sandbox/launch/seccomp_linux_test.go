package launch

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func judge(t *testing.T, p program, arch uint32, nr int, args ...uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{offNr: uint32(nr), offArch: arch}
	for i, arg := range args {
		data[offArgs+8*uint32(i)] = arg
	}
	return run(t, p, data)
}

func run(t *testing.T, p program, data map[uint32]uint32) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		jump := func(met bool) {
			if met {
				pc += int(in.jt)
			} else {
				pc += int(in.jf)
			}
		}
		switch in.code {
		case opLoad:
			a = data[in.k]
		case opAnd:
			a &= in.k
		case opJumpEqual:
			jump(a == in.k)
		case opJumpAbove:
			jump(a >= in.k)
		case opJumpSet:
			jump(a&in.k != 0)
		case opJump:
			pc += int(in.k)
		case opReturn:
			return in.k
		default:
			t.Fatalf("instruction %#x", in.code)
		}
	}
	t.Fatal("the filter ends without an answer")
	return 0
}

func TestFilter(t *testing.T) {
	none, all := Filter{}, Filter{Inet: true, Unix: true, Route: true, Attributes: true, Others: true, SysV: true}
	eperm, eacces, enosys := refuse(syscall.EPERM), refuse(syscall.EACCES), refuse(syscall.ENOSYS)
	const create = unix.O_CREAT | unix.O_WRONLY
	tests := []struct {
		name      string
		nr        int
		args      []uint32
		none, all uint32
	}{
		{"read", unix.SYS_READ, nil, retAllow, retAllow},
		{"execve", unix.SYS_EXECVE, nil, retAllow, retAllow},
		{"mount", unix.SYS_MOUNT, nil, eperm, eperm},
		{"ptrace", unix.SYS_PTRACE, nil, eperm, eperm},
		{"bpf", unix.SYS_BPF, nil, eperm, eperm},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, nil, enosys, enosys},
		{"clone3", unix.SYS_CLONE3, nil, enosys, enosys},
		{"openat2", unix.SYS_OPENAT2, nil, enosys, enosys},
		{"fork", unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, retAllow, retAllow},
		{"thread", unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, retAllow,
			retAllow},
		{"clone newuser", unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER}, eperm, eperm},
		{"clone newnet", unix.SYS_CLONE, []uint32{unix.CLONE_NEWNET}, eperm, eperm},
		{"unshare files", unix.SYS_UNSHARE, []uint32{unix.CLONE_FILES}, retAllow, retAllow},
		{"unshare newtime", unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWTIME}, eperm, eperm},
		{"personality asks", unix.SYS_PERSONALITY, []uint32{0xffffffff}, retAllow, retAllow},
		{"personality linux", unix.SYS_PERSONALITY, []uint32{0}, retAllow, retAllow},
		{"personality sets", unix.SYS_PERSONALITY, []uint32{8}, eperm, eperm},
		{"ioctl tcgets", unix.SYS_IOCTL, []uint32{0, unix.TCGETS}, retAllow, retAllow},
		{"ioctl tiocsti", unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, eperm, eperm},
		{"ioctl tioclinux", unix.SYS_IOCTL, []uint32{0, unix.TIOCLINUX}, eperm, eperm},
		{"ioctl flags are read", unix.SYS_IOCTL, []uint32{3, unix.FS_IOC_GETFLAGS}, retAllow, retAllow},
		{"ioctl flags", unix.SYS_IOCTL, []uint32{3, unix.FS_IOC_SETFLAGS}, eperm, retAllow},
		{"ioctl verity", unix.SYS_IOCTL, []uint32{3, unix.FS_IOC_ENABLE_VERITY}, eperm, retAllow},
		{"ioctl project", unix.SYS_IOCTL, []uint32{3, 0x401c5820}, eperm, retAllow},
		{"ioctl fiemap", unix.SYS_IOCTL, []uint32{3, 0xc020660b}, retAllow, retAllow},
		{"ioctl reflink", unix.SYS_IOCTL, []uint32{3, unix.FICLONE}, retAllow, retAllow},
		{"ioctl btrfs snapshot", unix.SYS_IOCTL, []uint32{3, 0x50009417}, eperm, eperm},
		{"ioctl fionbio", unix.SYS_IOCTL, []uint32{3, 0x5421}, retAllow, retAllow},
		{"fcntl flags", unix.SYS_FCNTL, []uint32{3, unix.F_SETFL}, retAllow, retAllow},
		{"fcntl lease", unix.SYS_FCNTL, []uint32{3, unix.F_SETLEASE}, eperm, eperm},
		{"prlimit of its own", unix.SYS_PRLIMIT64, []uint32{0, 0, 4096}, retAllow, retAllow},
		{"prlimit asks", unix.SYS_PRLIMIT64, []uint32{7, 0, 0, 4096}, retAllow, retAllow},
		{"prlimit of another", unix.SYS_PRLIMIT64, []uint32{7, 0, 4096}, eperm, retAllow},
		{"nice", unix.SYS_SETPRIORITY, []uint32{unix.PRIO_PROCESS, 0, 10}, retAllow, retAllow},
		{"nice of another", unix.SYS_SETPRIORITY, []uint32{unix.PRIO_PROCESS, 7, 10}, eperm, retAllow},
		{"nice of a user", unix.SYS_SETPRIORITY, []uint32{unix.PRIO_USER, 0, 10}, eperm, retAllow},
		{"affinity", unix.SYS_SCHED_SETAFFINITY, []uint32{0}, retAllow, retAllow},
		{"affinity of another", unix.SYS_SCHED_SETAFFINITY, []uint32{7}, eperm, retAllow},
		{"ionice", unix.SYS_IOPRIO_SET, []uint32{1, 0}, retAllow, retAllow},
		{"ionice of a user", unix.SYS_IOPRIO_SET, []uint32{3, 0}, eperm, retAllow},
		{"fchmod", unix.SYS_FCHMOD, []uint32{3, 0o755}, retAsk, retAllow},
		{"fchmod setuid", unix.SYS_FCHMOD, []uint32{3, 0o4755}, retAsk, eperm},
		{"fchmodat setgid", unix.SYS_FCHMODAT, []uint32{3, 0, 0o2755}, retAsk, eperm},
		{"utimensat", unix.SYS_UTIMENSAT, nil, retAsk, retAllow},
		{"setxattr", unix.SYS_SETXATTR, nil, retAsk, retAllow},
		{"openat reads", unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY, 0o4000}, retAllow, retAllow},
		{"openat creates", unix.SYS_OPENAT, []uint32{0, 0, create, 0o644}, retAllow, retAllow},
		{"openat creates setuid", unix.SYS_OPENAT, []uint32{0, 0, create, 0o4755}, eperm, eperm},
		{"openat tmpfile setuid", unix.SYS_OPENAT, []uint32{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o4755}, eperm, eperm},
		{"mknodat fifo", unix.SYS_MKNODAT, []uint32{0, 0, unix.S_IFIFO | 0o644}, retAllow, retAllow},
		{"mknodat char", unix.SYS_MKNODAT, []uint32{0, 0, unix.S_IFCHR | 0o644}, eperm, eperm},
		{"mknodat block", unix.SYS_MKNODAT, []uint32{0, 0, unix.S_IFBLK | 0o644}, eperm, eperm},
		{"mknodat setuid", unix.SYS_MKNODAT, []uint32{0, 0, unix.S_IFREG | 0o4755}, eperm, eperm},
		{"socketpair", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX}, retAllow, retAllow},
		{"socketpair tipc", unix.SYS_SOCKETPAIR, []uint32{unix.AF_TIPC}, refuse(syscall.EAFNOSUPPORT),
			refuse(syscall.EAFNOSUPPORT)},
		{"unix", unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM}, eacces, retAllow},
		{"tcp", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, eacces,
			retAllow},
		{"udp6", unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}, eacces, retAllow},
		{"mptcp", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, eacces,
			refuse(syscall.EPROTONOSUPPORT)},
		{"raw", unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6}, eacces, eperm},
		{"route", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE},
			refuse(syscall.EAFNOSUPPORT), retAllow},
		{"audit", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT},
			refuse(syscall.EAFNOSUPPORT), eacces},
		{"packet", unix.SYS_SOCKET, []uint32{unix.AF_PACKET, unix.SOCK_RAW}, refuse(syscall.EAFNOSUPPORT),
			refuse(syscall.EAFNOSUPPORT)},
		{"shmget", unix.SYS_SHMGET, nil, eperm, retAllow},
		{"x32", x32Bit + unix.SYS_READ, nil, enosys, enosys},
	}
	for _, test := range tests {
		assert.Equal(t, test.none, judge(t, none.compile(), auditArch, test.nr, test.args...), "%s, nothing granted",
			test.name)
		assert.Equal(t, test.all, judge(t, all.compile(), auditArch, test.nr, test.args...), "%s, all granted",
			test.name)
	}
	guarding := Filter{Attributes: true, Guard: true}
	for _, nr := range []int{unix.SYS_SETXATTR, unix.SYS_FREMOVEXATTR} {
		assert.EqualValues(t, retAsk, judge(t, guarding.compile(), auditArch, nr), "an access control list has the mode")
	}
	assert.Equal(t, enosys, judge(t, guarding.compile(), auditArch, sysSetxattrat), "programs use the older call then")
	highWord := map[uint32]uint32{offNr: uint32(sysPrlimit64), offArch: auditArch, offArgs: 7, offArgs + 20: 1}
	assert.Equal(t, eperm, run(t, none.compile(), highWord), "limits at an address whose low word is 0")
	const i386 = 0x40000003
	assert.EqualValues(t, retKill, judge(t, all.compile(), i386, 21), "a call by another architecture's numbers")
}

func TestBytes(t *testing.T) {
	code := Filter{}.compile()
	raw := code.bytes()
	require.Len(t, raw, len(code)*int(unsafe.Sizeof(unix.SockFilter{})))
	for i, filter := range unsafe.Slice((*unix.SockFilter)(unsafe.Pointer(&raw[0])), len(code)) {
		assert.Equal(t, unix.SockFilter{Code: code[i].code, Jt: code[i].jt, Jf: code[i].jf, K: code[i].k}, filter)
	}
}

// TestFilterDoesNothingTwice checks that each system call has one rule: of two, the search would choose any.
func TestFilterDoesNothingTwice(t *testing.T) {
	for _, f := range []Filter{{}, {Guard: true}, {Guard: true, Attributes: true},
		{Inet: true, Unix: true, Route: true, Attributes: true, Others: true, SysV: true}} {
		seen := make(map[int]bool)
		for _, r := range f.rules() {
			assert.False(t, seen[r.nr], "system call %d", r.nr)
			seen[r.nr] = true
			assert.Less(t, len(r.body), 256)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, pair := range [][2]int{
		{unix.SYS_LANDLOCK_CREATE_RULESET, sysLandlockCreateRuleset},
		{unix.SYS_LANDLOCK_ADD_RULE, sysLandlockAddRule},
		{unix.SYS_LANDLOCK_RESTRICT_SELF, sysLandlockRestrictSelf},
		{unix.SECCOMP_IOCTL_NOTIF_RECV, notifyReceive},
		{unix.SECCOMP_IOCTL_NOTIF_SEND, notifySend},
		{unix.SECCOMP_IOCTL_NOTIF_ID_VALID, notifyValid},
		{unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, fsUnix},
		{unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, fsIoctlDev},
		{unix.LANDLOCK_ACCESS_FS_REFER, fsRefer},
		{unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
			unix.CLONE_NEWPID | unix.CLONE_NEWNET, newNamespaces},
	} {
		assert.Equal(t, pair[0], pair[1])
	}
}
