package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/macho"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain makes the release of all platforms for the long tests.
func TestMain(m *testing.M) {
	if os.Getenv("RELEASE_PLAYS") == "notes" {
		playNotes(os.Stdin, os.Stdout)
		return
	}
	os.Exit(func() int {
		if os.Getenv("RELEASE_LONG") == "" || os.Getenv("RELEASE_DIST") != "" {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "toolhost-released-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		dist := filepath.Join(dir, "dist")
		args := []string{"build", "--version", "v0.0.0-test", "--throwaway-key", "--dist", dist}
		if err := run(context.Background(), args, os.Stderr); err != nil {
			panic(err)
		}
		os.Setenv("RELEASE_DIST", dist)
		return m.Run()
	}())
}

var verifyOnce = sync.OnceValue(func() error {
	dist := os.Getenv("RELEASE_DIST")
	_, err := verify(dist, filepath.Join(dist, throwawayFile))
	return err
})

func TestReleaseIsVerified(t *testing.T) {
	released(t)
	require.NoError(t, verifyOnce())
}

// TestFormats reads the programs of all systems as those systems do.
func TestFormats(t *testing.T) {
	dist := released(t)
	machines := map[string]map[string]any{
		"darwin": {"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64},
	}
	for system, processors := range machines {
		for processor, machine := range processors {
			t.Run(system+"/"+processor, func(t *testing.T) {
				found, err := filepath.Glob(filepath.Join(dist, "toolhost_*_"+system+"_"+processor+".*"))
				require.NoError(t, err)
				if len(found) == 0 {
					missing(t, "a short release has linux/amd64 alone")
				}
				for product, want := range map[string]int{name: len(programs()), hub: 1} {
					checkPrograms(t, artifact(t, dist, product+"_*_"+system+"_"+processor+".tar.gz"), machine, want)
				}
			})
		}
	}
}

// checkPrograms requires want programs for one machine in an artifact.
func checkPrograms(t *testing.T, artifact string, machine any, want int) {
	t.Helper()
	files, err := readArtifact(artifact)
	require.NoError(t, err)
	count := 0
	for _, f := range files {
		if f.program() == "" {
			continue
		}
		count++
		assert.Equal(t, machine, machineOf(t, f.data), f.path)
		info, err := buildinfo.Read(bytes.NewReader(f.data))
		require.NoError(t, err)
		assert.Equal(t, module, info.Main.Path)
	}
	assert.Equal(t, want, count, artifact)
}

func machineOf(t *testing.T, data []byte) any {
	t.Helper()
	f, err := macho.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	return f.Cpu
}

// TestImageInARoot starts toolhost in the image's root, as the image's user and
// with nothing else around it.
func TestImageInARoot(t *testing.T) {
	dist := released(t)
	if os.Getuid() != 0 {
		missing(t, "only root can change the root directory")
	}
	unshare := needed(t, "unshare")
	needed(t, "chroot")
	root := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755))
	require.NoError(t, os.Chmod(root, 0o755))
	unpackTo(t, artifact(t, dist, "toolhost_*.oci.tar"), root)
	root = filepath.Join(root, "linux-amd64")
	require.NoError(t, writeFiles(root, []file{{path: "workspace/agent.hcl", mode: 0o644, data: []byte(`
tool "self" {
  description = "Says its version."
  risk        = "read_only"
  command { argv = ["/usr/bin/toolhost", "version"] }
}
`)}}))
	for _, dir := range []string{"home/toolhost", "workspace", "tmp", "proc", "dev"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		require.NoError(t, os.Chown(filepath.Join(root, dir), nobody, nobody))
	}
	inside := func(args ...string) string {
		script := `mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && cd "$1/workspace" && root=$1 && shift &&
			HOME=/home/toolhost exec chroot --userspec=65532:65532 "$root" /usr/bin/toolhost "$@"`
		cmd := exec.CommandContext(t.Context(), unshare, append([]string{"-m", "sh", "-c", script, "sh", root}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	version := inside("version", "--json")
	assert.Contains(t, version, `"channel": "image"`)
	assert.Contains(t, version, `"missing": []`)
	config := []string{"--trust", "--config", "/workspace/agent.hcl", "--workspace", "/workspace"}
	assert.Contains(t, inside(append(config, "list")...), "self")
	assert.Contains(t, inside(append(config, "call", "self")...), "linux/amd64", "a confined command")
}

// The tools of each format read it, if they are installed.
func TestDescriptionsByTheirOwnTools(t *testing.T) {
	dist := released(t)
	t.Run("formula", func(t *testing.T) {
		command(t, dist, needed(t, "ruby"), "-c", "toolhost.rb")
	})
	t.Run("server.json", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(dist, "server.json"))
		require.NoError(t, err)
		checkServer(t, text)
	})
	t.Run("deb", func(t *testing.T) {
		command(t, dist, needed(t, "dpkg-deb"), "--info", artifact(t, dist, "toolhost_*_amd64.deb"))
		root := t.TempDir()
		command(t, dist, needed(t, "dpkg"), "--root="+root, "--force-not-root", "--force-bad-path", "--unpack",
			artifact(t, dist, "toolhost_*_amd64.deb"))
		assert.FileExists(t, filepath.Join(root, "usr/bin/toolhost"))
	})
	t.Run("unit", func(t *testing.T) {
		analyze, dir := needed(t, "systemd-analyze"), t.TempDir()
		t.Setenv("XDG_RUNTIME_DIR", dir)
		text := bytes.Replace(unit, []byte("ExecStart=toolhost "), []byte("ExecStart=/bin/sh "), 1) // it is not installed here
		require.NoError(t, os.WriteFile(filepath.Join(dir, "toolhost@.service"), text, 0o644))
		command(t, dir, analyze, "--user", "verify", "--man=no", "toolhost@.service")
	})
	t.Run("MCP bundle", func(t *testing.T) {
		validator := os.Getenv("RELEASE_MCPB")
		if validator == "" {
			missing(t, "RELEASE_MCPB names no program mcpb (npm install @anthropic-ai/mcpb)")
		}
		root := t.TempDir()
		unpackTo(t, artifact(t, dist, "toolhost_*_linux_amd64.mcpb"), root)
		command(t, root, validator, "validate", "manifest.json")
	})
}

// TestTwoUsersGetTheSameBytes makes the release again: in another directory, as
// another user, with other caches and another umask.
func TestTwoUsersGetTheSameBytes(t *testing.T) {
	dist := released(t)
	if os.Getenv("RELEASE_LONG") == "" {
		missing(t, "compiles everything again; make release-test runs it")
	}
	if os.Getuid() != 0 {
		missing(t, "only root can become another user")
	}
	require.NoError(t, verifyOnce())
	published, err := open(dist, filepath.Join(dist, throwawayFile))
	require.NoError(t, err)
	home, err := os.MkdirTemp("", "another-user-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("rm", "-rf", home).Run() })
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	require.NoError(t, err)
	command(t, home, "git", "clone", "-q", "--no-hardlinks", strings.TrimSpace(string(top)), "elsewhere")
	command(t, filepath.Join(home, "elsewhere"), "git", "checkout", "-q", published.made.commit())
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	command(t, home, "cp", "-r", filepath.Join(strings.TrimSpace(string(modules)), "cache", "download"), "download")
	command(t, home, "chown", "-R", "65534:65534", home)

	args := []string{"run", ".", "build", "--unsigned", "--version",
		published.made.Predicate.BuildDefinition.ExternalParameters.Version, "--dist", filepath.Join(home, "again")}
	if len(published.made.Predicate.BuildDefinition.ExternalParameters.Platforms) == 1 {
		args = append(args, "--short")
	}
	cmd := exec.CommandContext(t.Context(), "setpriv", append([]string{"--reuid=65534", "--regid=65534", "--clear-groups",
		"sh", "-c", `umask 077; exec go "$@"`, "go"}, args...)...)
	cmd.Dir = filepath.Join(home, "elsewhere", "internal", "release")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "TZ=Asia/Tokyo", "GOFLAGS=-modcacherw",
		"CGO_ENABLED=0", // as for what is cached here
		"GOPROXY=file://" + filepath.Join(home, "download"), "GOSUMDB=off", "GOTOOLCHAIN=local"}
	var problems bytes.Buffer
	cmd.Stderr = io.MultiWriter(&problems, os.Stderr)
	require.NoError(t, cmd.Run(), "%s", problems.Bytes())
	require.NoError(t, published.compare(filepath.Join(home, "again")))
}
