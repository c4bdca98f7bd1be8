// Package testfilter runs programs where the kernel refuses system calls, as
// container profiles and older kernels do.
package testfilter

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Rule refuses a system call with an error: always, or, if Bits are set, if the
// lower half of argument Arg, counted from 0, has one of them.
type Rule struct {
	Call  int
	Errno syscall.Errno
	Arg   int
	Bits  uint32
}

const variable = "TOOLHOST_TEST_FILTER"

// Main must be called first in the TestMain of a package whose tests use Behind: it
// turns the test program into the one to run behind a filter.
func Main() {
	text, found := os.LookupEnv(variable)
	if !found {
		return
	}
	var rules []Rule
	err := json.Unmarshal([]byte(text), &rules)
	if err == nil {
		_ = os.Unsetenv(variable)
		runtime.LockOSThread() // the filter applies to the thread, which starts the program
		if err = install(rules); err == nil {
			err = syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
		}
	}
	fmt.Fprintln(os.Stderr, "testfilter:", err)
	os.Exit(125)
}

// Behind makes a command that was not started run behind a filter.
func Behind(t testing.TB, cmd *exec.Cmd, rules ...Rule) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := json.Marshal(rules)
	require.NoError(t, err)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, variable+"="+string(text))
	cmd.Args = append([]string{self, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = self
	return cmd
}

// install sets the filter on the calling thread. The superuser need not set
// no_new_privs for it, as programs that start containers do not.
func install(rules []Rule) error {
	const offsetArgs, refuse = 16, unix.SECCOMP_RET_ERRNO
	load := func(offset int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(offset)}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	var program []unix.SockFilter
	for _, r := range rules {
		body := []unix.SockFilter{ret(refuse | uint32(r.Errno))}
		if r.Bits != 0 {
			body = []unix.SockFilter{load(offsetArgs + 8*r.Arg),
				{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: r.Bits}, body[0], ret(unix.SECCOMP_RET_ALLOW)}
		}
		program = append(program, load(0),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(body)), K: uint32(r.Call)})
		program = append(program, body...)
	}
	program = append(program, ret(unix.SECCOMP_RET_ALLOW))
	set := func() error {
		return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&unix.SockFprog{
			Len: uint16(len(program)), Filter: &program[0]})), 0, 0)
	}
	if set() == nil {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return set()
}
