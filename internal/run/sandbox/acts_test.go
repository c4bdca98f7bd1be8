package sandbox

import (
	"fmt"
	"strings"
)

// Outcome is the outcome of an act of a confined process.
type Outcome string

// The outcomes.
const (
	Denied  Outcome = "denied"
	Allowed Outcome = "allowed"
)

// Who can do an act unconfined.
type Who string

// Nobody means that this kind of machine or kernel may refuse it to everyone.
const (
	Anyone   Who = "anyone"
	RootUser Who = "root"
	Nobody   Who = "nobody"
)

// Act is something that a process may try, and its outcome at each level, for root as for any other user.
type Act struct {
	// Name is short and unique; What describes it.
	Name, What     string
	Full, Landlock Outcome
	// Unconfined is who can do it at level off, to attribute refusals to the other levels.
	Unconfined Who
}

// Promises is what holds at the levels full and landlock, on Linux and without granted network. The tests try
// each act.
func Promises() []Act {
	var all []Act
	for _, group := range [][]Act{work(), files(), secrets(), processes(), networking(), kernel()} {
		all = append(all, group...)
	}
	return all
}

func no(name, what string, who Who) Act {
	return Act{Name: name, What: what, Full: Denied, Landlock: Denied, Unconfined: who}
}

func yes(name, what string) Act {
	return Act{Name: name, What: what, Full: Allowed, Landlock: Allowed, Unconfined: Anyone}
}

func onlyFull(name, what string) Act {
	return Act{Name: name, What: what, Full: Allowed, Landlock: Denied, Unconfined: Anyone}
}

// work returns the acts that must stay possible.
func work() []Act {
	return []Act{
		yes("workspace_write", "create, write, rename and remove files in the workspace"),
		yes("workspace_socketpair", "talk to its own children over pipes and socket pairs"),
		yes("system_read", "read and run what the system has installed"),
		yes("temp_write", "write temporary files in the directory that TMPDIR names"),
		yes("threads", "start threads and processes"),
		yes("proc_self", "read about itself in /proc"),
		yes("devices", "use /dev/null, /dev/zero, /dev/urandom and pseudo-terminals"),
		yes("workspace_chmod", "change modes, times and extended attributes of files in the workspace"),
		onlyFull("workspace_unix_socket", "serve a unix socket in the workspace"),
		onlyFull("loopback", "serve and reach its own TCP and UDP ports on 127.0.0.1"),
		onlyFull("shared_memory", "use POSIX shared memory of its own in /dev/shm"),
	}
}

func files() []Act {
	return []Act{
		no("outside_write", "write to a file outside", Anyone),
		no("outside_append", "append to a file outside", Anyone),
		no("outside_truncate", "truncate a file outside", Anyone),
		no("outside_create", "create a file outside", Anyone),
		no("outside_mkdir", "make a directory outside", Anyone),
		no("outside_unlink", "remove a file outside", Anyone),
		no("outside_rmdir", "remove a directory outside", Anyone),
		no("outside_rename", "rename a file outside", Anyone),
		no("outside_move_in", "move a file from outside into the workspace", Anyone),
		no("outside_move_out", "move a file out of the workspace", Anyone),
		no("outside_symlink", "make a symlink outside", Anyone),
		no("outside_link", "hard-link a file from outside into the workspace", Anyone),
		no("outside_by_symlink", "write through a symlink in the workspace that leads outside", Anyone),
		no("outside_chmod", "change the mode of a file outside", Anyone),
		no("outside_fchmod", "change the mode of a file outside that it has opened for reading", Anyone),
		no("outside_proc_fd", "change it through /proc/self/fd", Anyone),
		no("outside_chmod_symlink", "change it through a symlink in the workspace", Anyone),
		no("outside_chmod_race", "change it through a name that turns into a symlink meanwhile", Anyone),
		no("outside_futimens", "change the times of a file outside that it has opened for reading", Anyone),
		no("outside_flags", "change the flags of a file outside that it has opened for reading", Anyone),
		no("outside_lease", "take a lease on a file outside", Anyone),
		no("outside_chown", "change the owner of a file outside", Anyone),
		no("outside_utimes", "change the times of a file outside", Anyone),
		no("outside_setxattr", "set an extended attribute of a file outside", Anyone),
		no("outside_fifo", "write to a named pipe outside", Anyone),
		no("protected_write", "write to what the policy keeps read-only in the workspace", Anyone),
		no("protected_replace", "replace it by moving its directory away", Anyone),
		no("host_tmp", "read the host's temporary files", Anyone),
		no("proc_sys_write", "change settings of the kernel below /proc/sys", RootUser),
		no("sys_write", "change settings of the kernel below /sys", RootUser),
		no("raw_device", "open a disk or the kernel's log", RootUser),
		no("setuid_chmod", "set the set-user-ID bit of its own file", Anyone),
		no("setuid_create", "create a file with the set-user-ID bit", Anyone),
		no("setuid_mknod", "make a file node with the set-user-ID bit", Anyone),
		no("mknod_device", "make a device file in the workspace", RootUser),
	}
}

func secrets() []Act {
	return []Act{
		no("secret_home", "read a key in the home directory's .ssh", Anyone),
		no("secret_masked", "read a file that the policy masks", Anyone),
		no("secret_shadow", "read the password hashes in /etc/shadow", RootUser),
		no("secret_environ", "read the environment of a process outside", Anyone),
		no("secret_proc_root", "look at the file system through /proc/PID/root of a process outside", Anyone),
		no("secret_handle", "open a file by its handle instead of its path", RootUser),
	}
}

func processes() []Act {
	return []Act{
		no("signal", "signal a process outside", Anyone),
		no("process_limits", "change the resource limits of a process outside", Anyone),
		no("process_priority", "change the priority of a process outside", Anyone),
		no("process_processors", "change which processors a process outside may use", Anyone),
		no("ptrace", "trace a process outside", RootUser),
		no("ptrace_child", "trace a child of its own", Anyone),
		no("process_vm", "read the memory of a process outside", RootUser),
		no("pidfd_getfd", "take a descriptor from a process outside", RootUser),
		no("new_privileges", "gain rights by a set-user-ID program", Anyone),
		no("capabilities", "hold any capability, or regain one by a new program", RootUser),
		no("user_namespace", "make a user namespace", Anyone),
		no("mount_namespace", "make a mount namespace", RootUser),
		no("setns", "enter a namespace of a process outside", RootUser),
		no("sysv_memory", "attach shared memory of a process outside", Anyone),
		no("tiocsti", "type into a terminal", Anyone),
		no("outlive", "leave a process behind in a session and an environment of its own", Anyone),
	}
}

func networking() []Act {
	return []Act{
		no("tcp4", "connect by TCP to a port outside", Anyone),
		no("tcp6", "connect by TCP over IPv6 to a port outside", Anyone),
		no("udp", "send a UDP packet outside", Anyone),
		no("mptcp", "open an MPTCP socket", Anyone),
		no("raw_socket", "open a raw socket", RootUser),
		no("packet_socket", "open a packet socket", RootUser),
		no("netlink_socket", "open a netlink socket other than for routes", Anyone),
		no("vsock_socket", "open a socket to the machine's host", Nobody),
		no("alg_socket", "open a socket to the kernel's cryptography", Nobody),
		no("other_socket", "open a socket of any other family", Nobody),
		no("unix_path", "connect to a unix socket of a process outside, but in the workspace or a place that is granted", Anyone),
		no("unix_abstract", "connect to an abstract unix socket of a process outside", Anyone),
	}
}

func kernel() []Act {
	return []Act{
		no("mount", "mount a file system", RootUser),
		no("remount", "make a read-only mount writable again", RootUser),
		no("umount", "unmount what hides something", RootUser),
		no("fsopen", "mount by the newer calls", RootUser),
		no("chroot", "change the root directory", RootUser),
		no("pivot_root", "exchange the root mount", RootUser),
		no("io_uring", "use io_uring", Anyone),
		no("bpf", "load a BPF object", RootUser),
		no("perf", "open a performance event", RootUser),
		no("keyctl", "use the kernel's keyrings", Anyone),
		no("userfaultfd", "handle page faults of its own", Anyone),
		no("personality", "change how the kernel treats the process", Anyone),
		no("module", "remove a kernel module", Nobody),
		no("kexec", "load another kernel", Nobody),
		no("reboot", "restart the machine", RootUser),
		no("swap", "use a file for swapping", RootUser),
		no("hostname", "change the host's name", RootUser),
		no("syslog", "read the kernel's log", RootUser),
		no("clone3", "use a call whose arguments the filter cannot see", Anyone),
		no("x32", "get around the filter by the x32 call numbers", Nobody),
	}
}

// PromiseTable returns Promises as Markdown: a table of the acts that a level allows, and a list of those that
// both deny.
func PromiseTable() string {
	var b strings.Builder
	b.WriteString("| act | full | landlock |\n|---|---|---|\n")
	for _, a := range work() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", a.What, a.Full, a.Landlock)
	}
	b.WriteString("\nDenied at both levels, each act tried:\n\n")
	for _, group := range []struct {
		title string
		acts  []Act
	}{
		{"Files", files()}, {"Secrets", secrets()}, {"Processes", processes()},
		{"Network", networking()}, {"Kernel", kernel()},
	} {
		words := []string{"-", "**" + group.title + "**:"}
		for i, a := range group.acts {
			end := ";"
			if i == len(group.acts)-1 {
				end = "."
			}
			words = append(words, strings.Fields(a.What+end)...)
		}
		b.WriteString(wrapped(words, 120))
	}
	return b.String()
}

// wrapped returns an item of a Markdown list in lines of at most width bytes.
func wrapped(words []string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range words {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n ")
			column = 1
			fallthrough
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String() + "\n"
}
