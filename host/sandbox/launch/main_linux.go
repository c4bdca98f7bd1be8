package launch

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// exitFailed is the launcher's exit code when it could not start the program.
const exitFailed = 125

func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		os.Exit(run(os.Args[1:]))
	}
}

// run is the launcher. It runs on the process's first thread throughout,
// which the initialisation of packages is bound to: most of what confines a
// process confines a thread.
func run(args []string) int {
	if len(args) == 1 && args[0] == Probe {
		return 0
	}
	status := takeStatus()
	plan, ok := Decode(args)
	if ok {
		withhold(3 + plan.Files)
	}
	if !ok {
		return status.fail("internal", "the launcher was started with arguments that it does not understand",
			"It is started by toolhost alone.")
	}
	if err := plan.confine(); err != nil {
		return status.fail("unavailable", "the command cannot be confined: "+err.Error(),
			"Run `toolhost doctor` to see what this machine allows, or choose another sandbox level in agent.hcl.")
	}
	return plan.start(status)
}

// Refuse says that this launcher does not fit the toolhost that started it, or
// was started by hand, and gives the exit code.
func Refuse() int {
	return takeStatus().fail("unavailable", "the command cannot be confined: "+os.Args[0]+" was started by another version of toolhost, or by hand",
		"Install toolhost and toolhost-launch of one release side by side.")
}

// confine does all that can fail, from the outside in.
func (p *Plan) confine() error {
	leaveTerminal()
	if p.Loopback {
		if err := loopbackUp(); err != nil {
			return err
		}
	}
	if p.Namespaces {
		if err := p.arrange(); err != nil {
			return err
		}
	}
	if p.Dir != "" {
		// The directory that the process is in lies on a mount of before.
		if err := os.Chdir(p.Dir); err != nil {
			return err
		}
	}
	for _, limit := range p.Limits {
		if err := setLimit(limit); err != nil {
			return err
		}
	}
	var listeners chan<- int
	if !p.Filter.Attributes {
		var err error
		if listeners, err = newSupervisor(p.Write); err != nil {
			return err
		}
	}
	return p.confineThread(listeners)
}

// confineThread is what holds for the calling thread and all that it starts.
func (p *Plan) confineThread(listeners chan<- int) error {
	if err := dropRights(); err != nil {
		return err
	}
	if err := p.landlock(); err != nil {
		return err
	}
	listener, err := p.installFilter()
	if err == nil && listener >= 0 {
		listeners <- listener
	}
	return err
}

// start starts the program and stays behind: it gets the processes that have
// lost their parent, and none of them outlives it.
func (p *Plan) start(status status) int {
	if !p.Namespaces {
		prctl(prSetChildSubreaper, 1, 0)
	}
	files := make([]uintptr, 3+p.Files)
	for i := range files {
		files[i] = uintptr(i)
	}
	pid, err := syscall.ForkExec(p.Path, p.Args, &syscall.ProcAttr{
		Env: environ(), Files: files, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return status.cannotRun(p.Path, err)
	}
	ignoreSignals()
	closeFiles(files)
	end := waitFor(pid)
	if left := waitForOthers(); left && !p.Namespaces {
		killOthers()
	}
	if end.Signaled() {
		status.report("signal", strconv.Itoa(int(end.Signal())))
		return 128 + int(end.Signal())
	}
	status.report("done")
	return end.ExitStatus()
}

const (
	sysCloseRange     = 436
	closeRangeOnExec  = 4
	highestDescriptor = 1<<32 - 1
)

// withhold keeps descriptors from first on from the program: the host may have
// been started with some that it knows nothing of. Before Linux 5.11 they go
// on being inherited.
func withhold(first int) {
	_, _, _ = syscall.Syscall(sysCloseRange, uintptr(first), highestDescriptor, closeRangeOnExec)
}

// closeFiles lets go of the program's files, so that whoever reads from it
// sees when it closes them.
func closeFiles(files []uintptr) {
	for _, fd := range files {
		_ = syscall.Close(int(fd))
	}
}

func waitFor(pid int) (end syscall.WaitStatus) {
	for {
		got, err := syscall.Wait4(-1, &end, 0, nil)
		if got == pid || err != nil && err != syscall.EINTR {
			return end
		}
	}
}

// othersPatience is how often, a millisecond apart, the launcher looks whether
// the processes that the program has left behind have ended by themselves.
const othersPatience = 500

// waitForOthers reports whether some are left all the same.
func waitForOthers() (left bool) {
	for range othersPatience {
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case err == syscall.ECHILD:
			return false
		case pid == 0:
			_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1_000_000}, nil)
		}
	}
	return true
}

// killRounds bounds the hunt for processes that fork faster than they die.
const killRounds = 1000

// killOthers ends the children that are left, and theirs, which become
// children of ours as their parents end.
func killOthers() {
	self := os.Getpid()
	for range killRounds {
		for _, pid := range childrenOf(self) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return
			}
			if pid <= 0 {
				break
			}
		}
		_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1_000_000}, nil)
	}
}

// childrenOf lists the children of a process.
func childrenOf(parent int) (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name + "/stat")
		// After the name in parentheses: the state, then the parent.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ignoreSignals leaves it to the program what a signal to the whole group
// does. It must come after the program's start, who would inherit it.
func ignoreSignals() {
	action := [8]uint64{1} // SIG_IGN
	for _, signal := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	} {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}

// environ is the program's environment.
func environ() []string {
	var env []string
	for _, pair := range os.Environ() {
		if given, ok := strings.CutPrefix(pair, EnvPrefix); ok {
			env = append(env, given)
		}
	}
	return env
}

// status is where the launcher reports to, -1 for nowhere.
type status int

func takeStatus() status {
	fd, err := strconv.Atoi(os.Getenv(StatusEnv))
	if err != nil || fd < 3 {
		return -1
	}
	syscall.CloseOnExec(fd)
	return status(fd)
}

func (s status) report(fields ...string) {
	if s >= 0 {
		_, _ = syscall.Write(int(s), []byte(strings.Join(fields, "\x00")))
	}
}

func (s status) fail(code, message, suggestion string) int {
	s.report("error", code, message, suggestion)
	if s < 0 {
		_, _ = syscall.Write(2, []byte("toolhost: "+message+". "+suggestion+"\n"))
	}
	return exitFailed
}

func (s status) cannotRun(path string, err error) int {
	if err == syscall.ENOENT {
		return s.fail("command_not_found", "the program "+path+" cannot be seen inside the sandbox, or what its first line names cannot: "+err.Error(),
			"Install it in a system directory, or grant its directory to the tool in agent.hcl.")
	}
	return s.fail("permission_denied", "the program "+path+" may not be run inside the sandbox: "+err.Error(),
		"Make it executable, or grant its directory to the tool in agent.hcl.")
}

// failed is an error of a step.
type failed struct {
	step  string
	errno error
}

func (f failed) Error() string { return f.step + ": " + f.errno.Error() }
func (f failed) Unwrap() error { return f.errno }

func failure(step string, err error) error { return failed{step, err} }
