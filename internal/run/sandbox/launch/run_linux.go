package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// run starts the program and stays behind to reap orphans; none outlives it.
func (p *Plan) run(s *script) {
	if p.Path == "" {
		s.try(unix.SYS_EXIT_GROUP, 0)
		return
	}
	if !p.Namespaces {
		s.call("become a reaper", unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1)
	}
	program := p.start(s)
	s.ignoreSignals()
	// Readers of the program's output must see when it closes its files.
	for fd := range 3 + p.Files {
		s.try(unix.SYS_CLOSE, fd)
	}
	const ended = "ended\x00" // as in proc.StatusEnv; the status follows
	record := s.buffer(append(append(make([]byte, 8-len(ended)), ended...), make([]byte, 8)...))
	status := cell(record + 8)
	s.waitFor(program, status)
	var none, unclean label
	for _, pause := range othersPatience {
		s.reap(&none)
		s.try(unix.SYS_NANOSLEEP, s.words(0, uint64(pause)*1_000_000))
	}
	s.reap(&none)
	if !p.Namespaces {
		s.killOthers(&none, &unclean)
	}
	s.here(&none)
	if p.Report > 0 {
		s.try(unix.SYS_WRITE, p.Report, record+address(8-len(ended)), len(ended)+4)
	}
	s.here(&unclean)
	s.exitAs(status)
}

// start starts the program in the launcher's memory (vfork); the launcher continues once the program is
// executed.
func (p *Plan) start(s *script) (program cell) {
	own, result := s.cell(), s.cell()
	program = s.cell()
	var started label
	s.try(unix.SYS_GETPID).into(own)
	s.call("fork", unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|int(unix.SIGCHLD)).into(program).otherwise(&started)
	s.dieWith(own)
	s.try(unix.SYS_EXECVE, p.Path, s.texts(p.Args), s.texts(p.Env)).into(result).failing(&s.quit)
	s.here(&started)
	p.explain(s, result)
	return program
}

// explain ends the launcher if the program could not be executed.
func (p *Plan) explain(s *script, result cell) {
	var missing, long, denied, fine label
	s.try(opValue, result).orElse(&missing, unix.ENOENT).equal = &fine
	s.try(opValue, result).orElse(&long, unix.E2BIG)
	s.here(&denied)
	p.refuse(s, "permission_denied", "the program "+p.Path+" may not be run inside the sandbox",
		"Make it executable, or grant its directory to the tool in agent.hcl.")
	s.here(&missing)
	p.refuse(s, "command_not_found",
		"the program "+p.Path+" cannot be seen inside the sandbox, or what its first line names cannot",
		"Install it in a system directory, or grant its directory to the tool in agent.hcl.")
	s.here(&long)
	p.refuse(s, "too_large", "the arguments and environment of "+p.Path+" are too long",
		"Give fewer or shorter arguments, or pass the data in a file.")
	s.here(&fine)
}

func (p *Plan) refuse(s *script, code, message, next string) {
	if p.Report == 0 {
		s.say(2, "toolhost: "+message+". "+next+"\n")
	} else {
		s.say(p.Report, "error\x00"+code+"\x00"+message+"\x00"+next+"\x00")
		s.try(unix.SYS_WRITE, p.Report, address(stateErrno), 4)
	}
	s.goTo(&s.quit)
}

// ignoreSignals leaves signals to the whole group to the program. It must come after its start, which would
// inherit it.
func (s *script) ignoreSignals() {
	action := s.words(1, 0, 0, 0) // SIG_IGN
	for _, signal := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	} {
		s.try(unix.SYS_RT_SIGACTION, int(signal), action, 0, 8)
	}
}

// waitFor reaps until the process has ended.
func (s *script) waitFor(pid, status cell) {
	var again label
	s.here(&again)
	s.try(unix.SYS_WAIT4, -1, address(status)).unless(pid).otherwise(&again)
}

// othersPatience are the pauses, in milliseconds, between checks whether remaining processes have ended by
// themselves: half a second in total.
var othersPatience = [...]int{1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 64, 128, 228}

// reap reaps all that have ended. It branches to none when no child is left.
func (s *script) reap(none *label) {
	var again label
	s.here(&again)
	s.try(unix.SYS_WAIT4, -1, 0, unix.WNOHANG).otherwise(&again).failing(none)
}

// killOthers kills the remaining children, and theirs, which become ours as their parents end. It branches to
// unclean if the kernel does not list them.
func (s *script) killOthers(none, unclean *label) {
	var again label
	list, length, child, text := s.cell(), s.cell(), s.cell(), s.buffer(make([]byte, 16))
	s.here(&again)
	s.reap(none)
	s.try(unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/thread-self/children",
		unix.O_RDONLY|unix.O_CLOEXEC).into(list).failing(unclean)
	s.try(unix.SYS_READ, list, text, 15).into(length)
	s.try(unix.SYS_CLOSE, list)
	s.try(opValue, length).failing(unclean).equal = unclean
	s.try(opNumber, text).into(child).equal = unclean
	s.try(unix.SYS_KILL, child, int(unix.SIGKILL))
	s.try(unix.SYS_WAIT4, child)
	s.goTo(&again)
}

// exitAs exits with a process's status, as a shell would.
func (s *script) exitAs(status cell) {
	code := s.cell()
	s.try(opExitCode, status).into(code)
	s.try(unix.SYS_EXIT_GROUP, code)
}
