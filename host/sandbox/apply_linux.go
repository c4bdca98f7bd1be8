package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/sandbox/launch"
	"github.com/toolhost/toolhost/host/tool"
)

// Capabilities, in a user namespace of its own, that the launcher needs until
// it has set up the view.
const (
	capSetPcap  = 8
	capNetAdmin = 12
	capSysAdmin = 21
)

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
	program, err := filepath.Abs(cmd.Path)
	if err != nil {
		return tool.Errorf(tool.Internal, "the program %s: %w", cmd.Path, err).Suggest("Give its absolute path.")
	}
	plan := &launch.Plan{
		Dir: dir, Files: len(cmd.ExtraFiles), Path: program, Args: cmd.Args,
		TmpSize: int64(p.Limits.tmp()), Limits: p.Limits.resources(level),
	}
	if level == Full {
		p.full(plan, g)
		p.namespaces(cmd)
	} else {
		if err := p.makeScratch(&g); err != nil {
			return err
		}
		if ruleset := p.landlock(plan, g); ruleset != nil {
			cmd.ExtraFiles = append(cmd.ExtraFiles, ruleset)
			plan.Ruleset = 2 + len(cmd.ExtraFiles)
		}
	}
	plan.Program = p.prepared.program(plan.Filter)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	cmd.Env = launcherEnvironment(p.environment(env, g, level))
	cmd.Path, cmd.Args = p.launcher(g), plan.Encode()
	return nil
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

// callMark is proc's mark, by which processes of a run are found. The
// launcher carries it, too.
const callMark = "TOOLHOST_CALL"

// launcherEnvironment wraps the program's environment, so that nothing in it
// means anything to the launcher.
func launcherEnvironment(env variables) []string {
	wrapped := make([]string, 0, len(env)+1)
	for _, pair := range env {
		wrapped = append(wrapped, launch.EnvPrefix+pair)
	}
	if mark := env.get(callMark); mark != "" {
		wrapped = append(wrapped, callMark+"="+mark)
	}
	return wrapped
}

// namespaces has the kernel start the command in namespaces of its own. The
// user keeps their number, and is nobody else there either.
func (p *Policy) namespaces(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	attr := cmd.SysProcAttr
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	attr.AmbientCaps = []uintptr{capSetPcap, capSysAdmin}
	if !p.Network {
		attr.Cloneflags |= unix.CLONE_NEWNET
		attr.AmbientCaps = append(attr.AmbientCaps, capNetAdmin)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
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
	add(unix.RLIMIT_AS, l.Memory)
	add(unix.RLIMIT_CPU, uint64(l.CPU.Seconds()))
	if level == Full {
		add(unix.RLIMIT_NPROC, l.Processes)
	}
	return limits
}

// detect tries both levels with a command that does nothing.
func detect() Report {
	return Report{LandlockABI: launch.LandlockABI(), Landlock: try(Landlock), Full: try(Full)}
}

func try(level Level) Verdict {
	if launch.LandlockABI() < launch.MinimumABI {
		return Verdict{Reason: "the kernel's Landlock is missing or older than Linux 6.2"}
	}
	p := Policy{Level: level}
	cmd := &exec.Cmd{Path: p.launcher(grants{}), Args: []string{launch.Name, launch.Probe}, Env: []string{}, Dir: "/"}
	if err := p.apply(cmd, level); err != nil {
		return Verdict{Reason: err.Error()}
	}
	// The launcher inside has no rights that it could use.
	out, err := cmd.CombinedOutput()
	if err == nil {
		return Verdict{Works: true}
	}
	if len(out) > 0 {
		return Verdict{Reason: strings.TrimSpace(string(out))}
	}
	return Verdict{Reason: err.Error()}
}
