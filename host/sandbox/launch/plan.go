// Package launch is the program that confines a process from the inside. It
// confines itself as its arguments say and then becomes, or starts, the program
// it was started for. Package sandbox makes its arguments.
//
// The program is toolhost-launch, or the host's own binary, started anew under
// the name Name. It does its work while packages are still being initialised,
// which nothing else in toolhost does. There are two reasons. A program that
// embeds toolhost needs no code of its own for it. And every command that is
// run confined pays for it: the initialisation of everything that is linked
// into toolhost takes several times as long as all of this. So that it comes
// early, and toolhost-launch is small, the package imports next to nothing: no
// more than os and syscall.
package launch

import (
	"strconv"
	"strings"
)

// Name is the argv[0] under which the binary is a launcher. The number is that
// of the arguments' form: a launcher of another one refuses to work.
const Name = "toolhost-launch-2"

// Probe is an argument with which a launcher ends at once, successfully.
const Probe = "probe"

// EnvPrefix stands before the name of every variable that is meant for the
// program and not for the launcher: the launcher must not load LD_PRELOAD.
const EnvPrefix = "TOOLHOST_ENV_"

// StatusEnv is proc.StatusEnv, which see for the report.
const StatusEnv = "TOOLHOST_STATUS_FD"

// Plan is what a launcher does.
type Plan struct {
	// Namespaces is true when the process was started in user, mount, PID, IPC
	// and UTS namespaces of its own, and Loopback when in a network namespace.
	Namespaces, Loopback bool
	// View changes the file system as the process sees it, which is all
	// read-only to begin with, in this order. It needs Namespaces.
	View []Change
	// Read, Write and Device are what Landlock grants: reading and executing
	// below, everything below, and reading and writing of device files. List
	// grants listing directories everywhere.
	Read, Write, Device []string
	List                bool
	// Ruleset is the descriptor of a Landlock ruleset that the host has made,
	// in place of the paths above but Write. 0 is none.
	Ruleset int
	// Filter is what the system call filter lets through, and Program the
	// filter as Filter.Program gives it.
	Filter  Filter
	Program string
	// Limits are resource limits, by their number in setrlimit(2).
	Limits []Limit
	// TmpSize bounds what a Scratch holds, in bytes.
	TmpSize int64
	// Dir is where the program starts. Files is how many descriptors from 3 on
	// it gets.
	Dir   string
	Files int
	// Path is the program's file and Args its arguments, with its name.
	Path string
	Args []string
}

// Change is one change of the view.
type Change struct {
	Kind Kind
	Path string
}

// Kind tells changes apart.
type Kind byte

// The kinds of change. Scratch is an empty place that anybody may write, and
// that vanishes in the end; Hidden an empty directory in which later changes
// may make something appear; Blank an empty directory and Void an empty file.
const (
	Writable Kind = 'w'
	ReadOnly Kind = 'r'
	Scratch  Kind = 't'
	Hidden   Kind = 'h'
	Blank    Kind = 'b'
	Void     Kind = 'v'
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
	// of files, where the view confines that. Otherwise a supervisor looks at
	// each such call.
	Attributes bool
	// SysV allows System V shared memory, semaphores and message queues, and
	// POSIX message queues.
	SysV bool
}

// Tags of an encoded plan, besides the kinds of change.
const (
	tagNamespaces   = 'N'
	tagLoopback     = 'L'
	tagRead         = 'R'
	tagWrite        = 'W'
	tagDevice       = 'D'
	tagList         = 'I'
	tagRuleset      = 'S'
	tagFilter       = 'F'
	tagInstructions = 'P'
	tagLimit        = 'U'
	tagTmpSize      = 'T'
	tagDir          = 'C'
	tagFiles        = 'X'
	tagProgram      = '-'
)

// Encode gives the plan as arguments, from argv[0] on.
func (p *Plan) Encode() []string {
	args := []string{Name}
	add := func(tag byte, value string) { args = append(args, string(rune(tag))+value) }
	flag := func(tag byte, set bool) {
		if set {
			add(tag, "")
		}
	}
	flag(tagNamespaces, p.Namespaces)
	flag(tagLoopback, p.Loopback)
	flag(tagList, p.List)
	if p.Ruleset > 0 {
		add(tagRuleset, strconv.Itoa(p.Ruleset))
	}
	for _, c := range p.View {
		add(byte(c.Kind), c.Path)
	}
	for tag, paths := range map[byte][]string{tagRead: p.Read, tagWrite: p.Write, tagDevice: p.Device} {
		for _, path := range paths {
			add(tag, path)
		}
	}
	for _, l := range p.Limits {
		add(tagLimit, strconv.Itoa(l.Resource)+":"+strconv.FormatUint(l.Value, 10))
	}
	add(tagFilter, p.Filter.encode())
	add(tagInstructions, p.Program)
	add(tagTmpSize, strconv.FormatInt(p.TmpSize, 10))
	add(tagDir, p.Dir)
	add(tagFiles, strconv.Itoa(p.Files))
	add(tagProgram, p.Path)
	return append(args, p.Args...)
}

// Decode reads what Encode made, without argv[0]. It reports whether it could.
func Decode(args []string) (*Plan, bool) {
	p := new(Plan)
	for i, arg := range args {
		if arg == "" {
			return nil, false
		}
		if arg[0] == tagProgram {
			p.Path, p.Args = arg[1:], args[i+1:]
			return p, len(p.Args) > 0
		}
		if !p.decode(arg[0], arg[1:]) {
			return nil, false
		}
	}
	return nil, false
}

func (p *Plan) decode(tag byte, value string) (ok bool) {
	var err error
	switch tag {
	case tagNamespaces:
		p.Namespaces = true
	case tagLoopback:
		p.Loopback = true
	case tagList:
		p.List = true
	case byte(Writable), byte(ReadOnly), byte(Scratch), byte(Hidden), byte(Blank), byte(Void):
		p.View = append(p.View, Change{Kind: Kind(tag), Path: value})
	case tagRead:
		p.Read = append(p.Read, value)
	case tagWrite:
		p.Write = append(p.Write, value)
	case tagDevice:
		p.Device = append(p.Device, value)
	case tagRuleset:
		p.Ruleset, err = strconv.Atoi(value)
	case tagFilter:
		p.Filter = decodeFilter(value)
	case tagInstructions:
		p.Program = value
	case tagLimit:
		return p.decodeLimit(value)
	case tagTmpSize:
		p.TmpSize, err = strconv.ParseInt(value, 10, 64)
	case tagDir:
		p.Dir = value
	case tagFiles:
		p.Files, err = strconv.Atoi(value)
	default:
		return false
	}
	return err == nil
}

func (p *Plan) decodeLimit(value string) bool {
	resource, number, _ := strings.Cut(value, ":")
	r, err1 := strconv.Atoi(resource)
	n, err2 := strconv.ParseUint(number, 10, 64)
	p.Limits = append(p.Limits, Limit{Resource: r, Value: n})
	return err1 == nil && err2 == nil
}

func (f Filter) encode() string {
	var b strings.Builder
	for _, bit := range []bool{f.Inet, f.Unix, f.Route, f.Attributes, f.SysV} {
		if bit {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

func decodeFilter(s string) Filter {
	set := func(i int) bool { return i < len(s) && s[i] == '1' }
	return Filter{Inet: set(0), Unix: set(1), Route: set(2), Attributes: set(3), SysV: set(4)}
}
