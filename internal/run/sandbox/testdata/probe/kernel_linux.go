package main

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel are acts that change the machine, or use rarely needed parts of the kernel.
func kernel(s Scene) acts {
	return acts{
		"mount": func() error {
			if err := os.MkdirAll(s.in("mnt"), 0o755); err != nil {
				return err
			}
			if err := unix.Mount("tmpfs", s.in("mnt"), "tmpfs", 0, ""); err != nil {
				return err
			}
			return unix.Unmount(s.in("mnt"), 0)
		},
		// The workspace is no mount point unless confined.
		"remount": func() error {
			return passed(unix.Mount("", s.Workspace, "", unix.MS_REMOUNT|unix.MS_BIND, ""), unix.EINVAL)
		},
		"umount": func() error { return passed(unix.Unmount("/usr/bin", 0), unix.EINVAL) },
		"fsopen": func() error {
			fd, err := unix.Fsopen("tmpfs", 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return passed(err)
		},
		"chroot":     func() error { return unix.Chroot("/") },
		"pivot_root": func() error { return passed(unix.PivotRoot("/none", "/none"), unix.ENOENT, unix.EINVAL) },
		"io_uring": func() error {
			var params [120]byte
			return passedOrFd(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
		},
		"bpf": func() error {
			attr := [32]uint32{2, 4, 4, 1} // an array of one number
			return passedOrFd(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), 48)
		},
		"perf": func() error {
			attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
				Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
			attr.Size = uint32(unsafe.Sizeof(*attr))
			_, err := unix.PerfEventOpen(attr, 0, -1, -1, 0)
			return passed(err)
		},
		"keyctl": func() error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, true)
			return passed(err)
		},
		"userfaultfd": func() error { return passedOrFd(unix.SYS_USERFAULTFD, 1) },
		"personality": func() error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := call(unix.SYS_PERSONALITY, 0x0040000); err != nil {
				return err
			}
			return call(unix.SYS_PERSONALITY, 0)
		},
		"module":   func() error { return passed(unix.DeleteModule("no_such_module", 0), unix.ENOENT) },
		"kexec":    func() error { return passed(call(unix.SYS_KEXEC_LOAD, 0, 1<<20, 0, 0), unix.EINVAL) },
		"reboot":   func() error { return passed(call(unix.SYS_REBOOT, 1, 1, 1), unix.EINVAL) },
		"swap":     func() error { return passed(swapOn("/none"), unix.ENOENT) },
		"hostname": sameHostname,
		"syslog": func() error {
			_, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, make([]byte, 64))
			return passed(err)
		},
		"clone3": func() error {
			// Without the filter the kernel reports a wrong size.
			return passed(call(unix.SYS_CLONE3, 0, 0), unix.EINVAL)
		},
		"x32": func() error {
			if runtime.GOARCH != "amd64" {
				return errAbsent
			}
			return passed(call(0x40000000+unix.SYS_GETPID), nil)
		},
	}
}

func passedOrFd(nr uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	fd, _, errno := unix.Syscall(nr, a[0], a[1], a[2])
	if errno != 0 {
		return passed(errno)
	}
	return unix.Close(int(fd))
}

func swapOn(path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	return call(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), 0)
}

func sameHostname() error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}
