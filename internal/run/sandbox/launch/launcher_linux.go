package launch

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Failure begins the launcher's message about a failed step. The step's name follows, such as MakeNamespaces or
// InstallFilter.
const (
	Failure        = "the command cannot be confined: "
	MakeNamespaces = "make namespaces"
	InstallFilter  = "seccomp"
)

// exitFailed is the launcher's exit code if it could not start the program.
const exitFailed = 125

// Apply puts a launcher in front of a command that has not been started, with environment env. It adds a file
// to cmd.ExtraFiles, to be closed once the command has been started or given up.
func (p *Plan) Apply(cmd *exec.Cmd, env []string) error {
	s, err := p.script()
	if err != nil {
		return err
	}
	if err := apply(cmd, s); err != nil {
		return err
	}
	cmd.Args, cmd.Env = append(cmd.Args, shown(p.Args)...), env
	return nil
}

// shownArguments bounds the command line that the launcher shows, in bytes.
const shownArguments = 4 << 10

// shown returns the arguments that the launcher shows in process lists.
func shown(args []string) []string {
	for i, size := 0, 0; i < len(args); i++ {
		if size += len(args[i]); size > shownArguments {
			return args[:i]
		}
	}
	return args
}

func apply(cmd *exec.Cmd, s *script) error {
	defer scripts.Put(s)
	file, err := executable(s.image())
	if err != nil {
		return failure("make the launcher", err)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	cmd.Path, cmd.Args = "/proc/self/fd/"+strconv.Itoa(2+len(cmd.ExtraFiles)), []string{Name}
	return nil
}

// script lists what the launcher does, from the outside in.
func (p *Plan) script() (*script, error) {
	if auditArch == 0 {
		return nil, failure("no launcher is known for this architecture", syscall.ENOSYS)
	}
	s := newScript()
	s.try(unix.SYS_PRCTL, unix.PR_SET_NAME, Name) // otherwise it is named after its descriptor
	// The host may have been started with descriptors that it does not know.
	s.try(unix.SYS_CLOSE_RANGE, 3+p.Files, 1<<32-1, unix.CLOSE_RANGE_CLOEXEC)
	if !p.Terminal {
		s.leaveTerminal()
	} else { // a hangup ends the program even if the host was started with nohup
		s.call("reset SIGHUP", unix.SYS_RT_SIGACTION, int(unix.SIGHUP), s.data(make([]byte, 32)), 0, 8)
	}
	var first cell
	var outside label
	if p.Namespaces {
		first = s.enterNamespaces(p.Loopback, &outside)
		if p.Network != 0 {
			p.openNetwork(s)
		}
		p.arrange(s)
	}
	if p.Dir != "" {
		s.call("enter "+p.Dir, unix.SYS_CHDIR, p.Dir)
	}
	for _, limit := range p.Limits {
		s.call("setrlimit", unix.SYS_PRLIMIT64, 0, limit.Resource, s.words(limit.Value, limit.Value), 0)
	}
	s.dropRights()
	p.landlock(s)
	p.installFilter(s)
	if p.Path == "" && p.Supervisor != 0 {
		// As a command writes: it cannot without a working supervisor, which cannot read from an undumpable
		// process.
		s.try(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)
		fd := s.cell()
		s.call("have a file opened", unix.SYS_OPENAT, unix.AT_FDCWD, os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC).into(fd)
		s.close(fd)
	}
	if p.Path == "" && p.Dir != "/" {
		name := ".toolhost-try-" + strconv.Itoa(os.Getpid())
		s.call("make a directory in "+p.Dir, unix.SYS_MKDIRAT, unix.AT_FDCWD, name, 0o700)
		s.call("remove a directory in "+p.Dir, unix.SYS_UNLINKAT, unix.AT_FDCWD, name, unix.AT_REMOVEDIR)
	}
	p.run(s)
	if p.Namespaces {
		s.here(&outside)
		status := s.cell()
		s.ignoreSignals()
		s.try(unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
		s.waitFor(first, status)
		s.exitAs(status)
	}
	p.fail(s)
	if s.invalid {
		return nil, failure("a path, argument or variable has a NUL in it", syscall.EINVAL)
	}
	return s, nil
}

// enterNamespaces moves the launcher into new namespaces. It continues as the first process of the PID
// namespace, and outside of that at outside. The user keeps their number and has no other.
func (s *script) enterNamespaces(network bool, outside *label) (first cell) {
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if network {
		flags |= unix.CLONE_NEWNET
	}
	s.call(MakeNamespaces, unix.SYS_UNSHARE, flags)
	s.write("/proc/self/setgroups", "deny")
	s.write("/proc/self/uid_map", onlyID(os.Geteuid()))
	s.write("/proc/self/gid_map", onlyID(os.Getegid()))
	s.dieWith(os.Getpid())
	s.undumpable()
	first = s.forkFirst(outside)
	if network {
		s.loopbackUp()
	}
	return first
}

// onlyID is the map of a user namespace with a single user under the same number.
func onlyID(id int) string { return strconv.Itoa(id) + " " + strconv.Itoa(id) + " 1" }

func (s *script) write(path, text string) {
	fd := s.cell()
	s.call("open "+path, unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_WRONLY|unix.O_CLOEXEC).into(fd)
	s.call("write "+path, unix.SYS_WRITE, fd, text, len(text))
	s.try(unix.SYS_CLOSE, fd)
}

// dieWith makes the kernel kill the process when its parent ends, which must still be the given one.
func (s *script) dieWith(parent any) {
	s.call("set the parent-death signal", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, int(unix.SIGKILL))
	s.call("getppid", unix.SYS_GETPPID).unless(parent).otherwise(&s.quit)
}

// forkFirst continues as the first process of the PID namespace. Its parent has no number there, so it is
// watched by a descriptor.
func (s *script) forkFirst(outside *label) (first cell) {
	own, poll := s.cell(), s.buffer(make([]byte, 16))
	first = s.cell()
	s.try(unix.SYS_GETPID).into(own)
	s.call("open the parent", unix.SYS_PIDFD_OPEN, own).into(cell(poll))
	s.try(opValue, unix.POLLIN).into(cell(poll + 4)) // behind the number, in struct pollfd
	s.call("fork", unix.SYS_CLONE, int(unix.SIGCHLD)).into(first).otherwise(outside)
	s.call("set the parent-death signal", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, int(unix.SIGKILL))
	s.call("look for the parent", unix.SYS_PPOLL, poll, 1, s.words(0, 0)).otherwise(&s.quit)
	return first
}

func (p *Plan) fail(s *script) {
	const what, next = Failure,
		"Run `toolhost doctor` to see what this machine allows, or choose another sandbox level in agent.hcl."
	s.here(&s.failure)
	if p.Report == 0 {
		s.say(2, "toolhost: "+what)
		s.try(unix.SYS_WRITEV, 2, stateStep, 1)
		s.say(2, ". "+next+"\n")
	} else {
		s.say(p.Report, "error\x00unavailable\x00"+what)
		s.try(unix.SYS_WRITEV, p.Report, stateStep, 1)
		s.say(p.Report, "\x00"+next+"\x00")
		s.try(unix.SYS_WRITE, p.Report, address(stateErrno), 4)
	}
	s.here(&s.quit)
	s.try(unix.SYS_EXIT_GROUP, exitFailed)
}

func (s *script) say(to int, text string) {
	s.try(unix.SYS_WRITE, to, s.data([]byte(text)), len(text))
}
