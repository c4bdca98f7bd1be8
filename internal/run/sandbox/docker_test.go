package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

func TestDockerArgs(t *testing.T) {
	p := Policy{Limits: Limits{OpenFiles: 100, Processes: 50, Memory: 1 << 30, Tmp: 1 << 20, CPU: 10 * time.Second}}
	g := grants{writable: []string{"/proj"}, readOnly: []string{"/proj/fixed"}, cache: "/proj/c"}
	args := dockerArgs(p, g, "/proj/dir", variables{"A=secret", "B=c"}, "toolhost-x")
	line := strings.Join(args, " ")
	for _, want := range []string{
		"run --rm --interactive --init --name toolhost-x --pull never --read-only", "--cap-drop ALL",
		"--security-opt no-new-privileges", "--network none", "--workdir /proj/dir",
		"--user " + strconv.Itoa(os.Geteuid()) + ":", "--tmpfs /tmp:rw,nosuid,nodev,exec,size=1048576",
		"--mount type=bind,source=/proj,target=/proj --mount type=bind,source=/proj/fixed,target=/proj/fixed,readonly",
		"--ulimit nofile=100 --ulimit cpu=10 --pids-limit 50 --memory 1073741824", "--env A --env B",
		"--env GOCACHE=/proj/c/go-build",
	} {
		assert.Contains(t, line, want)
	}
	assert.NotContains(t, line, "secret", "values stay off the command line")
	p.Network = true
	assert.NotContains(t, dockerArgs(p, g, "/", nil, "x"), "--network")
}

func TestApplyDocker(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o755))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	cmd := exec.Command("/bin/ls", "-l", "a b")
	cmd.Dir = t.TempDir()
	level, err := Apply(cmd, Policy{Level: Docker, Image: "alpine:3", Workspace: cmd.Dir})
	require.NoError(t, err)
	assert.Equal(t, Docker, level)
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(out), "alpine:3\nls\n-l\na b\n"), string(out))
}

// TestDockerRun needs a daemon, which the machines that run all tests need not
// have.
func TestDockerRun(t *testing.T) {
	if verdict := DetectDocker(t.Context()); !verdict.Works {
		testneed.Skip(t, verdict.Reason)
	}
	const image = "alpine:latest"
	if err := exec.Command("docker", "image", "inspect", image).Run(); err != nil {
		testneed.Skip(t, "the image "+image+" is not there, and none is fetched")
	}
	workspace := t.TempDir()
	cmd := exec.Command("sh", "-c", "echo x > made; ls /sys/class/net; touch /etc/x")
	cmd.Dir = workspace
	_, err := Apply(cmd, Policy{Level: Docker, Image: image, Workspace: workspace})
	require.NoError(t, err)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "lo\n")
	assert.NotContains(t, string(out), "eth0")
	assert.FileExists(t, filepath.Join(workspace, "made"))
}
