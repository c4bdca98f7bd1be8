package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (s Scene) processes() acts {
	return acts{
		"signal": func() error { return unix.Kill(s.Pid, 0) },
		"process_limits": func() error {
			var limit unix.Rlimit
			if err := unix.Prlimit(s.Pid, unix.RLIMIT_CORE, nil, &limit); err != nil {
				return err
			}
			return unix.Prlimit(s.Pid, unix.RLIMIT_CORE, &limit, nil)
		},
		"process_priority": func() error { return unix.Setpriority(unix.PRIO_PROCESS, s.Pid, 19) },
		"process_processors": func() error {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(s.Pid, &set); err != nil {
				return err
			}
			return unix.SchedSetaffinity(s.Pid, &set)
		},
		"ptrace":       func() error { return trace(s.Pid) },
		"ptrace_child": traceChild,
		"process_vm": func() error {
			var b [8]byte
			local := []unix.Iovec{{Base: &b[0], Len: 8}}
			remote := []unix.RemoteIovec{{Base: 8, Len: 8}}
			_, err := unix.ProcessVMReadv(s.Pid, local, remote, 0)
			return passed(err, unix.EFAULT)
		},
		"pidfd_getfd": func() error {
			fd, err := unix.PidfdOpen(s.Pid, 0)
			if err != nil {
				return passed(err)
			}
			_, err = unix.PidfdGetfd(fd, 0, 0)
			return err
		},
		"new_privileges": func() error {
			set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			if err != nil {
				return err
			}
			return expect(set == 0, "no_new_privs is set")
		},
		"capabilities": func() error {
			return exec.Command(self(), "capabilities").Run()
		},
		"user_namespace":  func() error { return start(syscall.CLONE_NEWUSER) },
		"mount_namespace": func() error { return start(syscall.CLONE_NEWNS) },
		"setns": func() error {
			fd, err := unix.Open("/proc/"+strconv.Itoa(s.Pid)+"/ns/uts", unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			runtime.LockOSThread()
			return unix.Setns(fd, unix.CLONE_NEWUTS)
		},
		"sysv_memory": func() error {
			address, err := unix.SysvShmAttach(s.SharedMemory, 0, unix.SHM_RDONLY)
			if err != nil {
				return err
			}
			return unix.SysvShmDetach(address)
		},
		"tiocsti": func() error {
			// Without the filter the kernel reports that the file is no terminal.
			f, err := os.Open("/dev/null")
			if err != nil {
				return err
			}
			c := byte('x')
			return passed(call(unix.SYS_IOCTL, f.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&c))), unix.ENOTTY)
		},
		"outlive": func() error {
			hidden := exec.Command("/bin/sh", "-c", "(exec env -i setsid "+s.Sleep+") & sleep 0.05")
			if err := hidden.Run(); err != nil {
				return err
			}
			for end := time.Now().Add(patience()); !hides(strings.ReplaceAll(s.Sleep, " ", "\x00")+"\x00") && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			return nil
		},
	}
}

// patience bounds the wait for what comes at once on an idle machine, and never if refused.
func patience() time.Duration {
	if unconfined() {
		return time.Minute
	}
	return time.Second
}

// hides reports whether a process with that command line is visible.
func hides(line string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(files, func(file string) bool {
		data, _ := os.ReadFile(file)
		return string(data) == line
	})
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return path
}

// reportCapabilities exits with 0 if the process has a capability.
func reportCapabilities() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 3
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.HasPrefix(name, "Cap") && strings.Trim(value, "0 \t\n") != "" && name != "CapBnd" {
			return 0
		}
	}
	return 1
}

func trace(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	return unix.PtraceInterrupt(pid)
}

func traceChild() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child := exec.Command("/bin/sleep", "60")
	if err := child.Start(); err != nil {
		return err
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	return unix.PtraceSeize(child.Process.Pid)
}

func start(flags uintptr) error {
	cmd := exec.Command(self(), "noop")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	return cmd.Run()
}

func (s Scene) network() acts {
	dial := func(network, address string) func() error {
		return func() error {
			if address == "" {
				return errAbsent
			}
			conn, err := net.DialTimeout(network, address, patience())
			if err != nil {
				return err
			}
			defer conn.Close()
			if network != "udp" {
				return nil
			}
			return echoes(conn)
		}
	}
	open := func(family, kind, protocol int) func() error {
		return func() error {
			fd, err := unix.Socket(family, kind, protocol)
			if err != nil {
				return absentFamily(err)
			}
			return unix.Close(fd)
		}
	}
	return acts{
		"tcp4": dial("tcp", s.TCP4), "tcp6": dial("tcp", s.TCP6), "udp": dial("udp", s.UDP),
		"unix_path": dial("unix", s.Unix), "unix_abstract": dial("unix", "@"+s.Abstract),
		"mptcp":          open(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP),
		"raw_socket":     open(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"packet_socket":  open(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"netlink_socket": open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		"vsock_socket":   open(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"alg_socket":     open(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"other_socket":   otherFamilies,
	}
}

func echoes(conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(patience()))
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 1))
	return err
}

// absentFamily distinguishes a family that the kernel lacks from a refused one.
func absentFamily(err error) error {
	if !unconfined() {
		return err
	}
	switch err {
	case unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT:
		return errAbsent
	}
	return err
}

// otherFamilies tries every family besides unix, internet and netlink.
func otherFamilies() error {
	for family := 3; family < 64; family++ {
		if family == unix.AF_INET6 || family == unix.AF_NETLINK {
			continue
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			if fd, err := unix.Socket(family, kind, 0); err == nil {
				_ = unix.Close(fd)
				return nil
			}
		}
	}
	return fmt.Errorf("none of them opens")
}
