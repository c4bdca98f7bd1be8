//go:build linux

package launch

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/bits"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "rewrite the listings")

var callNames = map[int]string{
	opValue: "value", opNumber: "number", opExitCode: "exitcode",
	unix.SYS_CAPSET: "capset", unix.SYS_CHDIR: "chdir", unix.SYS_CLONE: "clone", unix.SYS_CLOSE: "close",
	unix.SYS_CLOSE_RANGE: "close_range", unix.SYS_EXECVE: "execve", unix.SYS_EXIT_GROUP: "exit_group",
	unix.SYS_GETPID: "getpid", unix.SYS_GETPPID: "getppid", unix.SYS_IOCTL: "ioctl", unix.SYS_KILL: "kill",
	unix.SYS_LANDLOCK_ADD_RULE: "landlock_add_rule", unix.SYS_LANDLOCK_CREATE_RULESET: "landlock_create_ruleset",
	unix.SYS_LANDLOCK_RESTRICT_SELF: "landlock_restrict_self", unix.SYS_MKDIRAT: "mkdirat",
	unix.SYS_MKNODAT: "mknodat", unix.SYS_MOUNT: "mount", unix.SYS_MOUNT_SETATTR: "mount_setattr",
	unix.SYS_MOVE_MOUNT: "move_mount", unix.SYS_NANOSLEEP: "nanosleep", unix.SYS_OPENAT: "openat",
	unix.SYS_OPENAT2: "openat2", unix.SYS_OPEN_TREE: "open_tree", unix.SYS_PIDFD_OPEN: "pidfd_open",
	unix.SYS_PPOLL: "ppoll", unix.SYS_PRCTL: "prctl", unix.SYS_PRLIMIT64: "prlimit64", unix.SYS_READ: "read",
	unix.SYS_RT_SIGACTION: "rt_sigaction", unix.SYS_SECCOMP: "seccomp", unix.SYS_SENDMSG: "sendmsg",
	unix.SYS_SOCKET: "socket", unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_UNSHARE: "unshare",
	unix.SYS_BIND: "bind", unix.SYS_LISTEN: "listen", unix.SYS_SETSOCKOPT: "setsockopt",
	unix.SYS_WAIT4: "wait4", unix.SYS_WRITE: "write", unix.SYS_WRITEV: "writev",
}

// list decodes a script as the machine reads it: one line for each operation, with its number, arguments, where
// its result goes, and where it continues if not at the next line. Lines that differ only in numbers are shown
// once.
func list(t *testing.T, s *script) string {
	t.Helper()
	texts := make(map[address]string, len(s.strings))
	code := slices.Clone(s.encode())
	for text, at := range s.strings {
		texts[at] = text
	}
	d := &lister{s: s, texts: texts}
	var lines, shapes []string
	for at := 0; at < len(code); at += opSize {
		require.LessOrEqual(t, at+opSize, len(code), "half an operation")
		line := d.line(t, at/opSize, code[at:at+opSize])
		shape := digits.ReplaceAllString(line, "#")
		if n := len(shapes); n > 0 && shapes[n-1] == shape {
			if lines[len(lines)-1] != alike {
				lines = append(lines, alike)
			}
			continue
		}
		lines, shapes = append(lines, line), append(shapes, shape)
	}
	return strings.Join(lines, "\n") + "\n"
}

const alike = "     ... and more of the kind"

var digits = regexp.MustCompile(`-?\d+`)

type lister struct {
	s     *script
	texts map[address]string
}

func (d *lister) line(t *testing.T, index int, code []byte) string {
	var word [opSize / 8]uint64
	for i := range word {
		word[i] = binary.NativeEndian.Uint64(code[8*i:])
	}
	name, known := callNames[int(int64(word[0]))]
	require.True(t, known, "operation %d is the system call %d, which has no name here", index, word[0])
	var args []string
	for _, at := range word[1:7] {
		args = append(args, d.argument(address(at)))
	}
	for len(args) > 1 && args[len(args)-1] == "0" {
		args = args[:len(args)-1]
	}
	line := fmt.Sprintf("%4d %s(%s)", index, name, strings.Join(args, ", "))
	if d.used(address(word[7])) {
		line += " -> " + d.place(address(word[7]))
	}
	expected, equal, other := d.argument(address(word[8])), d.target(word[9]), d.target(word[10])
	next := strconv.Itoa(index + 1)
	if equal != next {
		line += fmt.Sprintf("; %s: to %s", expected, equal)
	}
	if other != next {
		line += fmt.Sprintf("; not %s: to %s", expected, other)
	}
	if errors := word[11]; errors != 0 {
		line += "; " + errorNames(errors) + ": to " + d.target(word[12])
	}
	switch fail := d.target(word[13]); fail {
	case next:
	case strconv.Itoa(d.s.failure.op):
		line += "; or fail"
	default:
		line += "; error: to " + fail
	}
	if length := word[15]; length > 0 {
		line += "   # " + d.texts[address(word[14])]
		assert.Len(t, d.texts[address(word[14])], int(length))
	}
	return line
}

// argument returns what the machine loads from at.
func (d *lister) argument(at address) string {
	if at >= stateBase {
		return "[" + d.place(at) + "]"
	}
	value := binary.NativeEndian.Uint64(d.s.constant[at-constantBase:])
	switch to := address(value); {
	case to >= stateBase && to < stateBase+address(len(d.s.state)):
		return "&" + d.place(to)
	case to >= constantBase && to < constantBase+address(len(d.s.constant)):
		if text, known := d.texts[to]; known {
			return strconv.Quote(text)
		}
		return "data"
	}
	return strconv.FormatInt(int64(value), 10)
}

func (d *lister) place(at address) string { return "s" + strconv.Itoa(int(at-stateBase)) }

// used reports whether a result is used: all that are not go to one place.
func (d *lister) used(at address) bool { return at != stateBase+address(len(d.s.state)-8) }

func (d *lister) target(at uint64) string {
	return strconv.Itoa(int((address(at) - opsBase) / opSize))
}

func errorNames(set uint64) string {
	var names []string
	for ; set != 0; set &= set - 1 {
		names = append(names, unix.ErrnoName(syscall.Errno(bits.TrailingZeros64(set))))
	}
	return strings.Join(names, " or ")
}

// TestListing shows what launchers do, without numbers that differ between machines, such as those of system
// calls.
func TestListing(t *testing.T) {
	defer func(here func() int) { capabilities = here }(capabilities)
	capabilities = func() int { return 41 }
	length := func(id int) string { return strconv.Itoa(len(onlyID(id))) }
	unsettled := strings.NewReplacer(
		`"`+onlyID(os.Geteuid())+`", `+length(os.Geteuid()), `"USER USER 1", LENGTH`,
		`"`+onlyID(os.Getegid())+`", `+length(os.Getegid()), `"USER USER 1", LENGTH`,
		"getppid(0); not "+strconv.Itoa(os.Getpid())+":", "getppid(0); not HOST:",
	)
	for name, plan := range map[string]Plan{
		"full": {
			Namespaces: true, Loopback: true, Dir: "/home/me/project", TmpSize: 64 << 20,
			View: []Change{{Scratch, "/tmp"}, {Hidden, "/home/me"}, {Writable, "/home/me/project"},
				{ReadOnly, "/home/me/project/agent.hcl"}, {Void, "/home/me/project/.env"}, {Blank, "/root"}},
			Limits: []Limit{{unix.RLIMIT_CORE, 0}}, Ruleset: 4,
			Path: "/usr/bin/make", Args: []string{"make", "test"}, Env: []string{"PATH=/usr/bin"}, Report: 3,
		},
		"network": {
			Namespaces: true, Loopback: true, Network: 4,
			Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.1/15"), netip.MustParsePrefix("2001:db8::1/128")},
			Sockets: []Socket{{true, netip.MustParseAddrPort("0.0.0.0:53")},
				{false, netip.MustParseAddrPort("[2001:db8::1]:443")}},
			View:    []Change{{Text, "/etc/resolv.conf"}},
			Texts:   map[string]string{"/etc/resolv.conf": "nameserver 198.18.0.1\n"},
			Ruleset: 5,
			Path:    "/usr/bin/make", Args: []string{"make", "test"}, Env: []string{"PATH=/usr/bin"}, Report: 3,
		},
		"landlock": {
			Dir: "/home/me/project", Ruleset: 4, Supervisor: 5, Filter: Filter{Guard: true},
			Path: "/usr/bin/make", Args: []string{"make", "test"}, Env: []string{"PATH=/usr/bin"}, Report: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := plan.script()
			require.NoError(t, err)
			defer scripts.Put(s)
			got := unsettled.Replace(list(t, s))
			file := "testdata/" + name + ".listing"
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "go test ./internal/run/sandbox/launch -run TestListing -update")
		})
	}
}
