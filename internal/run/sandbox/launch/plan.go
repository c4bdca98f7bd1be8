// Package launch makes the launcher, the program that confines a process from the inside. It confines itself,
// starts its program and stays behind to reap orphans. Package sandbox decides what is confined.
//
// A launcher is made for one command: a list of system calls written by the host (see Plan.script), and sixty
// instructions that make them in order (see machine), in an executable file in memory. Every confined command
// pays for it, so it initialises nothing and decides nothing. It has a single thread: otherwise the kernel
// makes no user namespace.
package launch

import "net/netip"

// Name is the launcher's argv[0].
const Name = "toolhost-launch"

// Plan is what a launcher does.
type Plan struct {
	// Namespaces makes user, mount, PID, IPC and UTS namespaces, Loopback also a network namespace.
	Namespaces, Loopback bool
	// Network is the descriptor of the socket over which the launcher sends Sockets to the host. It opens them when
	// the loopback interface has its Addresses. 0 means none. It needs Loopback.
	Network   int
	Addresses []netip.Prefix
	Sockets   []Socket
	// View changes the file system as the process sees it, initially read-only. The order counts: contents come
	// after their directory. It needs Namespaces.
	View []Change
	// From maps a ReadOnly path to the path it shows; by default its own.
	From map[string]string
	// Layers are the layers of each Overlay, by its path.
	Layers map[string]Layer
	// Texts are the contents of each Text, by its path.
	Texts map[string]string
	// Read, Write and Device are what Landlock grants: reading and executing below, everything below, and
	// reading and writing of device files. List grants listing directories everywhere. With Namespaces, the
	// view may be read and executed without a grant.
	Read, Write, Device []string
	List                bool
	// Ruleset is the descriptor of the host's Landlock ruleset, in place of the paths above. 0 means none.
	Ruleset int
	// Filter is what the system call filter allows.
	Filter Filter
	// Supervisor is the descriptor of the socket over which the host gets the filter's listener. 0 means none.
	Supervisor int
	// Limits are resource limits, by their number in setrlimit(2).
	Limits []Limit
	// TmpSize bounds a Scratch, in bytes.
	TmpSize int64
	// Dir is where the program starts. Files is how many descriptors from 3 on it gets.
	Dir   string
	Files int
	// Terminal leaves the program the launcher's controlling terminal, which is its own.
	Terminal bool
	// Path is the program's file, Args its arguments including its name, Env its environment. Without a path
	// the launcher ends once it has confined itself.
	Path      string
	Args, Env []string
	// Report is the descriptor for the launcher's reports, see proc.StatusEnv. 0 means none: errors go to
	// standard error.
	Report int
}

// Socket is opened by the launcher: listening for TCP, or bound for UDP.
type Socket struct {
	Datagram bool
	At       netip.AddrPort
}

// Change is one change of the view.
type Change struct {
	Kind Kind
	Path string
}

// Layer is where the changes of an Overlay go, and the kernel's work directory. Without Work, Upper is a full
// copy that replaces the tree.
type Layer struct{ Upper, Work string }

// Kind distinguishes changes.
type Kind byte

// The kinds of change. Overlay is a directory whose changes go elsewhere, Again a writable place as left by
// earlier changes. Scratch is an empty temporary place that all may write; Hidden an empty directory in which
// later changes may appear; Blank an empty directory, Void an empty file, and Text a file with its own content.
const (
	Writable Kind = 'w'
	Overlay  Kind = 'o'
	Again    Kind = 'a'
	ReadOnly Kind = 'r'
	Scratch  Kind = 't'
	Hidden   Kind = 'h'
	Blank    Kind = 'b'
	Void     Kind = 'v'
	Text     Kind = 'f'
)

// Limit is a resource limit, soft and hard.
type Limit struct {
	Resource int
	Value    uint64
}

// Filter is what the system call filter allows beyond what is harmless.
type Filter struct {
	// Inet allows internet sockets, Unix unix sockets, Route sockets that read the routing table.
	Inet, Unix, Route bool
	// Attributes allows changing modes, owners, times and extended attributes, where the view confines that.
	// Otherwise a supervisor makes each such call.
	Attributes bool
	// Guard makes a supervisor make, change and remove files, and change their modes.
	Guard bool
	// Others allows changing limits and priorities of other processes, where a PID namespace hides those
	// outside.
	Others bool
	// SysV allows System V shared memory, semaphores and message queues, and POSIX message queues.
	SysV bool
}
