package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
)

// watches says that the levels full and landlock can be watched.
const watches = true

// views says that level full has views.
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
	plan.Files, plan.Report = len(cmd.ExtraFiles), statusFile(env)
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
	return unconfinable(plan.Apply(cmd, marks(plan.Env)))
}

// unconfinable says that no launcher could be made.
func unconfinable(err error) error {
	if err == nil {
		return nil
	}
	return tool.Errorf(tool.Unavailable, "the command cannot be confined: %w", err).
		Suggest("Run `toolhost doctor` to see what this machine allows, or choose another sandbox level in agent.hcl.")
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

func statusFile(env variables) int {
	fd, err := strconv.Atoi(env.get(statusName))
	if err != nil || fd < 3 {
		return 0
	}
	return fd
}

// marks is the launcher's own environment.
func marks(env variables) []string {
	if mark := env.get(callMark); mark != "" {
		return []string{callMark + "=" + mark}
	}
	return []string{}
}

// resources are the limits by their numbers. No memory image is ever written:
// it could hold what the process was told in confidence.
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

// fullWorks tries level full alone: a program that runs one command has no time to spare.
var fullWorks = sync.OnceValue(func() bool { return try(Full).Works })

// detect tries both levels with a command that does nothing.
func detect() Report {
	full := try(Full)
	if !full.Works {
		full.Remedy = namespaceRemedy()
	}
	return Report{LandlockABI: launch.LandlockABI(), Landlock: try(Landlock), Full: full}
}

// namespaceRemedy says which setting of the kernel keeps users from making
// namespaces, which level full needs.
func namespaceRemedy() string {
	for _, s := range []struct{ name, forbids, remedy string }{
		{"user/max_user_namespaces", "0", "set the sysctl user.max_user_namespaces to more than 0"},
		{"kernel/unprivileged_userns_clone", "0", "set the sysctl kernel.unprivileged_userns_clone to 1"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1",
			"load toolhost's AppArmor profile, as docs/INSTALL.md shows, or set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0"},
	} {
		value, err := os.ReadFile("/proc/sys/" + s.name)
		if err == nil && strings.TrimSpace(string(value)) == s.forbids {
			return s.remedy
		}
	}
	return ""
}

func try(level Level) Verdict {
	if launch.LandlockABI() < launch.MinimumABI {
		return Verdict{Reason: "the kernel's Landlock is missing or older than Linux 6.2"}
	}
	p := Policy{Level: level}
	cmd := &exec.Cmd{Env: []string{}, Dir: "/"} // without a program
	err := p.apply(cmd, level)
	defer closeFiles(cmd.ExtraFiles)
	if err != nil {
		return Verdict{Reason: err.Error()}
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return Verdict{Works: true}
	}
	if len(out) > 0 { // of the launcher, with its advice to ask toolhost doctor
		reason, _, _ := strings.Cut(string(out), ". Run `toolhost doctor`")
		return Verdict{Reason: strings.TrimSpace(strings.TrimPrefix(reason, "toolhost: "))}
	}
	return Verdict{Reason: err.Error()}
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
