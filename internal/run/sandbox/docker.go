package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// applyDocker puts `docker run` in front of the command. The program is the
// image's own of that name. The docker command hands signals on to it, except
// SIGKILL: a program that does not heed SIGTERM may run on in its container.
func applyDocker(cmd *exec.Cmd, p Policy) error {
	if p.Image == "" {
		return tool.Errorf(tool.InvalidArgument, "sandbox level docker needs an image").
			Suggest("Set image in the sandbox block of agent.hcl.")
	}
	docker, err := exec.LookPath("docker")
	if err != nil {
		return tool.Errorf(tool.Unavailable,
			"sandbox level docker does not work on this machine: the docker command is not installed").
			Suggest("Install docker, or choose another level in agent.hcl.")
	}
	g, err := p.grants()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(cmd.Dir)
	if err != nil {
		return tool.AsError(err)
	}
	env := variables(cmd.Env)
	// The host's places mean nothing in the image.
	env.drop("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", statusName)
	args := append([]string{"docker"}, dockerArgs(p, g, dir, env, "toolhost-"+strings.ToLower(rand.Text()))...)
	cmd.Args = append(append(args, p.Image, filepath.Base(cmd.Path)), cmd.Args[1:]...)
	cmd.Path = docker
	// The values reach docker in its environment, and stay off its command line.
	cmd.Env = append(slices.Clone([]string(env)), "PATH="+os.Getenv("PATH"), "HOME="+homeDirectory())
	return nil
}

// dockerArgs are the arguments of docker up to the image.
func dockerArgs(p Policy, g grants, dir string, env variables, name string) []string {
	args := []string{
		"run", "--rm", "--interactive", "--init", "--name", name, "--pull", "never", "--read-only",
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "private",
		"--user", strconv.Itoa(os.Geteuid()) + ":" + strconv.Itoa(os.Getegid()),
		"--tmpfs", fmt.Sprintf("/tmp:rw,nosuid,nodev,exec,size=%d", p.Limits.tmp()),
		"--workdir", dir,
	}
	if !p.Network {
		args = append(args, "--network", "none")
	}
	for _, path := range g.writable {
		args = append(args, "--mount", "type=bind,source="+path+",target="+path)
	}
	for _, path := range g.readOnly {
		args = append(args, "--mount", "type=bind,source="+path+",target="+path+",readonly")
	}
	shown := slices.Concat(g.writable, g.readOnly)
	for _, path := range g.secrets {
		info, err := os.Lstat(path)
		switch {
		case err != nil || !withinAny(path, shown) || slices.Contains(shown, path):
		case info.IsDir(): // what is granted in it is mounted over it
			args = append(args, "--tmpfs", path+":rw,nosuid,nodev,noexec,size=4096")
		default:
			args = append(args, "--mount", "type=bind,source=/dev/null,target="+path+",readonly")
		}
	}
	args = append(args, p.Limits.dockerArgs()...)
	for _, pair := range env {
		variable, _, _ := strings.Cut(pair, "=")
		args = append(args, "--env", variable)
	}
	if g.cache != "" {
		args = append(args, "--env", "XDG_CACHE_HOME="+filepath.Join(g.cache, "xdg"),
			"--env", "GOCACHE="+filepath.Join(g.cache, "go-build"), "--env",
			"npm_config_cache="+filepath.Join(g.cache, "npm"))
	}
	return args
}

func (l Limits) dockerArgs() (args []string) {
	ulimit := func(name string, value uint64) {
		if value > 0 {
			args = append(args, "--ulimit", name+"="+strconv.FormatUint(value, 10))
		}
	}
	ulimit("nofile", l.OpenFiles)
	ulimit("fsize", l.FileSize)
	ulimit("cpu", uint64(l.CPU/time.Second))
	if l.Processes > 0 {
		args = append(args, "--pids-limit", strconv.FormatUint(l.Processes, 10))
	}
	if l.Memory > 0 {
		args = append(args, "--memory", strconv.FormatUint(l.Memory, 10))
	}
	return args
}
