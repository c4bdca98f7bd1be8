// Package launch makes the program that confines a process from the inside: the
// launcher. It confines itself, starts the program it was made for and stays
// behind to see to what that leaves. Package sandbox says how.
//
// A launcher is made for one command. It is a list of system calls, which the
// host has written (see Plan.script), and sixty instructions that make them one
// after the other (see machine), in an executable file in memory. Every command
// that runs confined pays for it, and this is the least that can be done in its
// place: nothing is initialised, and nothing is left to be decided inside that
// can be decided beforehand. It is also a single thread, without which the
// kernel makes no user namespace.
package launch

import "net/netip"

// Name is what a launcher calls itself, its argv[0].
const Name = "toolhost-launch"

// Plan is what a launcher does.
type Plan struct {
	// Namespaces is for user, mount, PID, IPC and UTS namespaces, and Loopback
	// for a network namespace as well.
	Namespaces, Loopback bool
	// Network is the descriptor of the socket over which the host gets Sockets, which
	// are opened when the loopback interface has Addresses beside its own. 0 is none.
	// It needs Loopback.
	Network   int
	Addresses []netip.Prefix
	Sockets   []Socket
	// View changes the file system as the process sees it, which is all
	// read-only to begin with, in this order: what lies in a place comes after
	// the place. It needs Namespaces.
	View []Change
	// From is where a ReadOnly place is taken from, by its path; without one it is
	// what lies there.
	From map[string]string
	// Layers are those of each Overlay, by its path.
	Layers map[string]Layer
	// Texts are the contents of each Text, by its path.
	Texts map[string]string
	// Read, Write and Device are what Landlock grants: reading and executing
	// below, everything below, and reading and writing of device files. List
	// grants listing directories everywhere. With Namespaces, what the view
	// shows may be read and executed without a grant.
	Read, Write, Device []string
	List                bool
	// Ruleset is the descriptor of a Landlock ruleset that the host has made,
	// in place of the paths above. 0 is none.
	Ruleset int
	// Filter is what the system call filter lets through.
	Filter Filter
	// Supervisor is the descriptor of the socket over which the host gets the
	// listener of the filter, from which it answers the calls that the filter
	// hands over. 0 is none, for a filter that hands over nothing.
	Supervisor int
	// Limits are resource limits, by their number in setrlimit(2).
	Limits []Limit
	// TmpSize bounds what a Scratch holds, in bytes.
	TmpSize int64
	// Dir is where the program starts. Files is how many descriptors from 3 on
	// it gets.
	Dir   string
	Files int
	// Terminal leaves the program the controlling terminal that the launcher was
	// given: one of its own, which nobody else types at.
	Terminal bool
	// Path is the program's file, Args its arguments, with its name, and Env
	// its environment. Without a path the launcher ends when it has confined
	// itself.
	Path      string
	Args, Env []string
	// Report is the descriptor that the launcher reports to, as
	// proc.StatusEnv says. 0 is none: it then says on standard error what is
	// wrong.
	Report int
}

// Socket is one that the launcher opens: a listening one for TCP, or one for UDP.
type Socket struct {
	Datagram bool
	At       netip.AddrPort
}

// Change is one change of the view.
type Change struct {
	Kind Kind
	Path string
}

// Layer is where the changes of an Overlay go, and a place for the kernel's work.
// Without that place, Upper is a copy of all, which takes the place of the tree.
type Layer struct{ Upper, Work string }

// Kind tells changes apart.
type Kind byte

// The kinds of change. Overlay is a directory whose changes go elsewhere, Again a
// writable place as the changes before have made it. Scratch is an empty place that anybody may write, and
// that vanishes in the end; Hidden an empty directory in which later changes
// may make something appear; Blank an empty directory, Void an empty file, and Text
// one with a content of its own.
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

// Filter is what the system call filter lets through beyond what is harmless.
type Filter struct {
	// Inet allows internet sockets, Unix unix sockets, Route sockets that read
	// the routing table.
	Inet, Unix, Route bool
	// Attributes allows changing modes, owners, times and extended attributes
	// of files, where the view confines that. Otherwise a supervisor makes each
	// such call.
	Attributes bool
	// Guard has a supervisor make, change and remove files, and change their modes.
	Guard bool
	// Others allows changing the limits and priorities of other processes,
	// where a PID namespace leaves none outside to be named.
	Others bool
	// SysV allows System V shared memory, semaphores and message queues, and
	// POSIX message queues.
	SysV bool
}
