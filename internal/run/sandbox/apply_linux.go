package sandbox

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
)

// watches reports that the levels full and landlock can be watched.
const watches = true

// views reports that level full has views.
const views = true

// apply puts the launcher in front of the command.
func (p *Policy) apply(cmd *exec.Cmd, level Level) error {
	g, err := p.grants()
	if err != nil {
		return err
	}
	dir, err := workingDirectory(cmd.Dir)
	if err != nil {
		return err
	}
	program := cmd.Path
	if program != "" {
		if program, err = filepath.Abs(program); err != nil {
			return tool.Errorf(tool.Internal, "the program %s: %w", cmd.Path, err).Suggest("Give its absolute path.")
		}
	}
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	plan := &launch.Plan{
		Dir: dir, Path: program, Args: cmd.Args, TmpSize: int64(p.Limits.tmp()), Limits: p.Limits.resources(level),
		Terminal: cmd.SysProcAttr != nil && cmd.SysProcAttr.Setctty,
	}
	plan.Files = len(cmd.ExtraFiles)
	given := variables(env)
	if fd, err := strconv.Atoi(given.get(statusName)); err == nil && fd >= 3 {
		plan.Report = fd
	}
	if plan.Report != 0 {
		plan.Files = plan.Report - 3
	}
	if level == Landlock {
		if err := p.makeScratch(&g); err != nil {
			return err
		}
		err = p.landlock(plan, g, cmd)
	} else {
		err = p.full(plan, g, cmd)
	}
	if err != nil {
		return unconfinable(err)
	}
	plan.Env = p.environment(env, g, level)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	marks := []string{}
	given = plan.Env
	if mark := given.get(callMark); mark != "" {
		marks = append(marks, callMark+"="+mark)
	}
	return unconfinable(plan.Apply(cmd, marks))
}

func unconfinable(err error) error {
	if err == nil {
		return nil
	}
	next := usedUp(err)
	if next == "" {
		next = "Run `toolhost doctor` to see what this machine allows, or choose another sandbox level in agent.hcl."
	}
	return tool.Errorf(tool.Unavailable, "the command cannot be confined: %w", err).Suggest("%s", next)
}

func workingDirectory(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", tool.Errorf(tool.NotFound, "the working directory %s cannot be entered: %w", dir, err).
			Suggest("Name a directory that exists.")
	}
	return abs, nil
}

// resources returns the limits by number. Core dumps are disabled: they could hold secrets of the process.
func (l Limits) resources(level Level) []launch.Limit {
	limits := []launch.Limit{{Resource: unix.RLIMIT_CORE}}
	add := func(resource int, value uint64) {
		if value > 0 {
			limits = append(limits, launch.Limit{Resource: resource, Value: value})
		}
	}
	add(unix.RLIMIT_NOFILE, l.OpenFiles)
	add(unix.RLIMIT_FSIZE, l.FileSize)
	add(unix.RLIMIT_CPU, uint64(l.CPU.Seconds()))
	if level == Full {
		add(unix.RLIMIT_NPROC, l.Processes)
	}
	return limits
}

func landlockABI() int { return launch.LandlockABI() }

func callsRepeat() bool { return launch.CallsRepeat() }

// namespaceRemedy names the kernel setting that keeps users from making the namespaces of level full.
func namespaceRemedy() string {
	for _, s := range []struct{ name, forbids, remedy string }{
		{"user/max_user_namespaces", "0", "Set the sysctl user.max_user_namespaces to more than 0."},
		{"user/max_mnt_namespaces", "0", "Set the sysctl user.max_mnt_namespaces to more than 0."},
		{"user/max_pid_namespaces", "0", "Set the sysctl user.max_pid_namespaces to more than 0."},
		{"user/max_net_namespaces", "0", "Set the sysctl user.max_net_namespaces to more than 0."},
		{"kernel/unprivileged_userns_clone", "0", "Set the sysctl kernel.unprivileged_userns_clone to 1."},
		{"kernel/apparmor_restrict_unprivileged_userns", "1",
			"Load toolhost's AppArmor profile, as docs/INSTALL.md shows, or set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0."},
	} {
		value, err := os.ReadFile("/proc/sys/" + s.name)
		if err == nil && strings.TrimSpace(string(value)) == s.forbids {
			return s.remedy
		}
	}
	return ""
}

func try(t trial, prepared *preparation) Verdict {
	if errno := launch.LandlockMissing(); t.level == Landlock && errno != 0 {
		return landlockMissing(errno)
	}
	p := Policy{Level: t.level, trial: t.supervised, prepared: prepared}
	return p.tryIn("/", t.level)
}

// tryIn starts a launcher that confines itself, opens a file as a command would, if supervised makes and
// removes a directory in dir (unless dir is the root), and exits.
func (p *Policy) tryIn(dir string, level Level) Verdict {
	runtime.LockOSThread() // the kernel kills the launcher when the thread that started it ends
	defer runtime.UnlockOSThread()
	ours, theirs, err := os.Pipe()
	if err != nil {
		return failedTrial("make a pipe", err)
	}
	defer ours.Close()
	cmd := &exec.Cmd{Env: []string{statusName + "=3"}, Dir: dir, ExtraFiles: []*os.File{theirs}} // without a program
	err = p.apply(cmd, level)
	if err == nil {
		err = cmd.Start()
	}
	closeFiles(cmd.ExtraFiles) // theirs too
	if err != nil {
		var failed *tool.Error
		if errors.As(err, &failed) && failed.Unwrap() != nil {
			err = failed.Unwrap()
		}
		return failedTrial("start a process", err)
	}
	report, _ := io.ReadAll(io.LimitReader(ours, 16<<10))
	if err = cmd.Wait(); err == nil {
		return Verdict{Works: true}
	}
	// In the form of proc.StatusEnv.
	fields := strings.Split(string(report), "\x00")
	if len(fields) < 4 || len(report) < 4 {
		return failedTrial("confine a process", err)
	}
	step := strings.TrimPrefix(fields[2], launch.Failure)
	return failedTrial(step, syscall.Errno(binary.NativeEndian.Uint32(report[len(report)-4:])))
}

func landlockMissing(errno syscall.Errno) Verdict {
	switch errno {
	case syscall.ENOSYS:
		return Verdict{Reason: "this kernel has no Landlock", Remedy: "Landlock takes Linux 5.13 or later, built with it."}
	case syscall.EOPNOTSUPP:
		return Verdict{Reason: "Landlock was not enabled when this machine was booted",
			Remedy: "Add landlock to the list lsm= of the kernel's command line (docs/INSTALL.md)."}
	}
	return Verdict{Reason: "a system call filter around toolhost refuses Landlock: " + errno.Error(),
		Remedy: "Allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self in the container's seccomp profile " +
			"(docs/INSTALL.md)."}
}

// failedTrial returns the verdict if a step of the launcher, or one before it, failed.
func failedTrial(step string, err error) Verdict {
	v := Verdict{Reason: step + ": " + err.Error()}
	namespaces := step == launch.MakeNamespaces
	if namespaces {
		v.Remedy = namespaceRemedy()
	}
	var noexec *os.PathError
	_, procErr := os.Stat("/proc/self")
	open2 := launch.Openat2()
	switch limit := usedUp(err); {
	case v.Remedy != "":
	case limit != "":
		v.Passing, v.Remedy = true, limit
	case procErr != nil:
		v.Reason, v.Remedy = "there is no /proc here", "Mount proc on /proc."
	case step == launch.InstallFilter && errors.Is(err, syscall.EBUSY):
		v.Reason = "a program around toolhost answers its system calls already, and the kernel allows only one supervisor"
		v.Remedy = insideRemedy
	case namespaces && errors.Is(err, syscall.EPERM):
		if level := around(); level == Full || level == Landlock {
			v.Reason = "this process is in " + level.Name() + " already, and no namespaces can be made there"
			v.Remedy = insideRemedy
			return v
		}
		v.Remedy = "In a container, allow unshare and mount in its seccomp profile (docs/INSTALL.md)."
	case open2 != 0:
		v.Reason = "openat2: " + open2.Error()
		v.Remedy = "It takes Linux 5.6 or later and, in a container, a seccomp profile that knows openat2."
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		v.Remedy = "In a container, its seccomp profile or what it masks may refuse that: docs/INSTALL.md says " +
			"what level full needs."
	case errors.As(err, &noexec) && noexec.Op == launch.ExecuteIn:
		v.Remedy = "Set TMPDIR to a directory in which programs may be executed."
	case errors.Is(err, syscall.ENOSYS), step == launch.InstallFilter && errors.Is(err, syscall.EINVAL):
		v.Remedy = "This kernel is too old for it, or a system call filter refuses it: docs/INSTALL.md has a table."
	}
	return v
}

// insideRemedy is the remedy if a supervisor is around toolhost.
const insideRemedy = "What runs in a sandbox of toolhost's, as the program of an agent block does, stays confined by that: set " +
	"TOOLHOST_SANDBOX=off for the toolhost inside, in env of the block. Otherwise run toolhost outside of the program that supervises it."

// usedUp returns the remedy for an error about a limit, "" for other errors.
func usedUp(err error) string {
	for _, limit := range []struct {
		errno syscall.Errno
		next  string
	}{
		{syscall.EAGAIN, "Too many processes run: end some, or raise ulimit -u or pids.max of the cgroup, and try again."},
		{syscall.EFBIG, "Files may not become as large as a small program: raise ulimit -f, and try again."},
		{syscall.EMFILE, "Too many files are open: raise ulimit -n, and try again."},
		{syscall.ENFILE, "Too many files are open on this machine: end programs, and try again."},
		{syscall.ENOMEM, "The memory is used up: end other programs, and try again."},
		{syscall.EUSERS, "Too many namespaces are in use: wait, or raise the sysctls user.max_*_namespaces, and try again."},
		{syscall.ENOSPC, "Too many namespaces are in use, or the disk of the temporary files is full: wait, raise the sysctls " +
			"user.max_*_namespaces, or set TMPDIR to another directory, and try again."},
	} {
		if errors.Is(err, limit.errno) {
			return limit.next
		}
	}
	return ""
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
