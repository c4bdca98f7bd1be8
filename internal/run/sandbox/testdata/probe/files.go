package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

type acts = map[string]func() error

func (s Scene) in(name string) string  { return filepath.Join(s.Workspace, name) }
func (s Scene) out(name string) string { return filepath.Join(s.Outside, name) }

func (s Scene) work() acts {
	return acts{
		"workspace_write": func() error {
			if err := os.WriteFile(s.in("made"), []byte("x"), 0o644); err != nil {
				return err
			}
			if err := os.Rename(s.in("made"), s.in("moved")); err != nil {
				return err
			}
			return os.Remove(s.in("moved"))
		},
		"workspace_socketpair": func() error {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return err
		},
		"system_read": func() error {
			if _, err := os.ReadFile("/etc/passwd"); err != nil {
				return err
			}
			return exec.Command("/bin/sh", "-c", "exec true").Run()
		},
		"temp_write": func() error {
			f, err := os.CreateTemp("", "probe")
			if err != nil {
				return err
			}
			return os.Remove(f.Name())
		},
		"threads": func() error {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { _ = exec.Command("/bin/true").Run() })
			}
			wg.Wait()
			return exec.Command("/bin/true").Run()
		},
		"proc_self": func() error {
			_, err := os.ReadFile("/proc/self/status")
			return err
		},
		"devices":               devices,
		"workspace_chmod":       s.workspaceChmod,
		"workspace_unix_socket": s.workspaceSocket,
		"loopback":              loopback,
		"shared_memory": func() error {
			name := "/dev/shm/probe" + strconv.Itoa(os.Getpid())
			if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
				return err
			}
			return os.Remove(name)
		},
	}
}

func devices() error {
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/urandom", "/dev/ptmx"} {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	return os.WriteFile("/dev/null", []byte("x"), 0)
}

func (s Scene) workspaceChmod() error {
	name := s.in("attributes")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(name, 0o755); err != nil {
		return err
	}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, name, make([]unix.Timespec, 2), 0); err != nil {
		return err
	}
	return passed(unix.Setxattr(name, "user.probe", []byte("x"), 0), unix.EOPNOTSUPP)
}

func (s Scene) workspaceSocket() error {
	listener, err := net.Listen("unix", s.in("socket"))
	if err != nil {
		return err
	}
	defer listener.Close()
	conn, err := net.Dial("unix", s.in("socket"))
	if err != nil {
		return err
	}
	return conn.Close()
}

func loopback() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	_ = conn.Close()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return packets.Close()
}

// files are acts on files outside, each on its own.
func (s Scene) files() acts {
	return acts{
		"outside_write":  func() error { return openAs(s.out("write"), os.O_WRONLY) },
		"outside_append": func() error { return openAs(s.out("append"), os.O_WRONLY|os.O_APPEND) },
		"outside_truncate": func() error {
			if unix.Truncate(s.out("truncate"), 0) == nil {
				return nil
			}
			return openAs(s.out("truncate"), os.O_RDONLY|os.O_TRUNC)
		},
		"outside_create":  func() error { return openAs(s.out("created"), os.O_WRONLY|os.O_CREATE) },
		"outside_mkdir":   func() error { return os.Mkdir(s.out("made"), 0o755) },
		"outside_unlink":  func() error { return unix.Unlink(s.out("unlink")) },
		"outside_rmdir":   func() error { return unix.Rmdir(s.out("rmdir")) },
		"outside_rename":  func() error { return os.Rename(s.out("rename"), s.out("renamed")) },
		"outside_move_in": func() error { return os.Rename(s.out("move"), s.in("from-outside")) },
		"outside_move_out": func() error {
			if err := os.WriteFile(s.in("leaving"), nil, 0o600); err != nil {
				return err
			}
			return os.Rename(s.in("leaving"), s.out("arrived"))
		},
		"outside_symlink": func() error { return os.Symlink("/etc", s.out("symlink")) },
		"outside_link":    func() error { return os.Link(s.out("link"), s.in("linked")) },
		"outside_by_symlink": func() error {
			return openAs(s.in("way-out"), os.O_WRONLY)
		},
		"outside_fifo": func() error { return openAs(s.out("fifo"), os.O_RDWR|unix.O_NONBLOCK) },
		"protected_write": func() error {
			return os.WriteFile(filepath.Join(s.Protected, "file"), []byte("changed"), 0o644)
		},
		"protected_replace": func() error {
			dir := filepath.Dir(s.Protected)
			if err := os.Rename(dir, dir+"-away"); err != nil {
				return err
			}
			return os.Rename(dir+"-away", dir)
		},
		"host_tmp": func() error {
			_, err := os.ReadFile(s.HostTmp)
			return err
		},
		"proc_sys_write": func() error { return openAs("/proc/sys/kernel/core_pattern", os.O_WRONLY) },
		"sys_write":      func() error { return openAs("/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY) },
		"raw_device":     func() error { return openAs("/dev/kmsg", os.O_WRONLY) },
	}
}

func openAs(name string, flags int) error {
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// attributes are acts on the metadata of files.
func (s Scene) attributes() acts {
	return acts{
		"outside_chmod": func() error { return unix.Chmod(s.out("chmod"), 0o777) },
		"outside_chown": func() error { return unix.Chown(s.out("chown"), os.Getuid(), os.Getgid()) },
		"outside_utimes": func() error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, s.out("utimes"),
				make([]unix.Timespec, 2), 0)
		},
		"outside_setxattr": func() error {
			return passed(unix.Setxattr(s.out("setxattr"), "user.probe", []byte("x"), 0), unix.EOPNOTSUPP)
		},
		"outside_fchmod": func() error {
			return s.withOpen("fchmod", func(fd int) error { return unix.Fchmod(fd, 0o777) })
		},
		"outside_proc_fd": func() error {
			return s.withOpen("proc-fd",
				func(fd int) error { return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o777) })
		},
		"outside_futimens": func() error {
			return s.withOpen("futimens", func(fd int) error {
				return call(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0)
			})
		},
		"outside_flags": func() error {
			return s.withOpen("flags", func(fd int) error {
				flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
				if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) {
					return errAbsent // the file system has none
				}
				if err != nil {
					return err
				}
				const noDump = 0x40
				return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|noDump)
			})
		},
		"outside_lease": func() error {
			return s.withOpen("lease", func(fd int) error {
				_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
				return err
			})
		},
		"outside_chmod_symlink": func() error {
			link := s.in("to-chmod")
			if err := os.Symlink(s.out("chmod-symlink"), link); err != nil {
				return fmt.Errorf("set up: %w", err)
			}
			return unix.Chmod(link, 0o777)
		},
		"outside_chmod_race": s.chmodRace,
		"setuid_chmod": func() error {
			if err := os.WriteFile(s.in("setuid"), nil, 0o755); err != nil {
				return err
			}
			return unix.Chmod(s.in("setuid"), 0o4755)
		},
		"setuid_create": func() error {
			fd, err := unix.Open(s.in("setuid-new"), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o4755)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		},
		"setuid_mknod": func() error { return unix.Mknod(s.in("setuid-node"), unix.S_IFREG|0o4755, 0) },
		"mknod_device": func() error { return unix.Mknod(s.in("device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) },
	}
}

func (s Scene) withOpen(name string, act func(fd int) error) error {
	fd, err := unix.Open(s.out(name), unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return act(fd)
}

// chmodRace changes the mode of a name that is by turns a file in the workspace and a symlink to one outside.
func (s Scene) chmodRace() error {
	victim, name := s.out("chmod-race"), s.in("racing")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(s.in("racing-file"), nil, 0o644)
			_ = os.Rename(s.in("racing-file"), name)
			_ = os.Symlink(victim, s.in("racing-link"))
			_ = os.Rename(s.in("racing-link"), name)
		}
	})
	patience := 500 * time.Millisecond
	if unconfined() {
		patience = 2 * time.Minute // until it wins, also on a busy machine
	}
	end := time.Now().Add(patience)
	for won := false; !won && time.Now().Before(end); {
		for range 100 {
			_ = unix.Chmod(name, 0o777)
		}
		info, err := os.Stat(victim)
		won = err == nil && info.Mode().Perm() == 0o777
	}
	close(stop)
	wg.Wait()
	info, err := os.Stat(victim)
	if err != nil {
		return err
	}
	return expect(info.Mode().Perm() == 0o777, "the mode is still %v", info.Mode())
}

func (s Scene) secrets() acts {
	pid := strconv.Itoa(s.Pid)
	return acts{
		"secret_home":    func() error { return readable(s.Secret) },
		"secret_masked":  func() error { return readable(s.Masked) },
		"secret_shadow":  func() error { return readable("/etc/shadow") },
		"secret_environ": func() error { return readable("/proc/" + pid + "/environ") },
		"secret_proc_root": func() error {
			_, err := os.ReadDir("/proc/" + pid + "/root/etc")
			return err
		},
		"secret_handle": func() error {
			handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc/passwd", 0)
			if err != nil {
				return passed(err)
			}
			_ = mount
			root, err := unix.Open("/etc", unix.O_RDONLY|unix.O_DIRECTORY, 0)
			if err != nil {
				return err
			}
			_, err = unix.OpenByHandleAt(root, handle, unix.O_RDONLY)
			return err
		},
	}
}

// readable succeeds if the file can be read and is not empty: a masked file may look empty.
func readable(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return expect(len(bytes.TrimSpace(data)) > 0, "nothing in it")
}
