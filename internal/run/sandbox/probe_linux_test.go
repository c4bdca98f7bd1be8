package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testfilter"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// matrix is the output of the probe: by level and act, "allowed", "denied WHY" or "absent".
type matrix map[sandbox.Level]map[string]string

// probeLevels names the only level to probe, if the kernel or a filter allows no other; unconfined acts may
// then fail.
const probeLevels = "PROBE_LEVEL"

func probed() []sandbox.Level {
	if level := os.Getenv(probeLevels); level != "" {
		return []sandbox.Level{sandbox.Level(level)}
	}
	return []sandbox.Level{sandbox.Landlock, sandbox.Full}
}

// TestProbeElsewhere probes the remaining levels in a container and without Landlock.
func TestProbeElsewhere(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	for level, rules := range map[sandbox.Level][]testfilter.Rule{
		sandbox.Landlock: {{Call: unix.SYS_UNSHARE, Errno: unix.EPERM}, {Call: unix.SYS_MOUNT, Errno: unix.EPERM}},
		sandbox.Full:     {{Call: unix.SYS_LANDLOCK_CREATE_RULESET, Errno: unix.ENOSYS}},
	} {
		t.Run(string(level), func(t *testing.T) {
			need(t, level)
			cmd := exec.Command(os.Args[0], "-test.run=^TestProbe$", "-test.v")
			cmd.Env = append(os.Environ(), probeLevels+"="+string(level))
			out, err := testfilter.Behind(t, cmd, rules...).CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Contains(t, string(out), "--- PASS: TestProbe")
		})
	}
}

// TestProbe runs the probe at every level, as the user of the test and, if that is root, also as an ordinary
// user, and compares with the promise.
func TestProbe(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	for _, level := range probed() {
		need(t, level)
	}
	base := probeBase(t)
	users := map[string]int{"the test's user": os.Geteuid()}
	if testneed.Superuser() {
		users = map[string]int{"root": 0, "nobody": 65534}
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) {
			compare(t, probeAs(t, base, uid), uid == 0)
		})
	}
}

func compare(t *testing.T, m matrix, root bool) {
	promises := sandbox.Promises()
	alone := os.Getenv(probeLevels) != ""
	for _, level := range append(probed(), sandbox.Off) {
		assert.Len(t, m[level], len(promises), "the probe tries what is promised, at level %s", level)
	}
	for _, act := range promises {
		t.Logf("%-22s off: %-9s landlock: %-9s full: %s", act.Name, first(m[sandbox.Off][act.Name]),
			first(m[sandbox.Landlock][act.Name]), first(m[sandbox.Full][act.Name]))
		for level, want := range map[sandbox.Level]sandbox.Outcome{sandbox.Full: act.Full,
			sandbox.Landlock: act.Landlock} {
			if !slices.Contains(probed(), level) {
				continue
			}
			if act.Name == "signal" && level == sandbox.Landlock && sandbox.Detect(t.Context()).LandlockABI < 6 {
				want = sandbox.Allowed // by the gaps of the level
			}
			if got := m[level][act.Name]; got != "absent" {
				assert.Equal(t, string(want), first(got), "%s at level %s: %s", act.Name, level, got)
			}
		}
		// The control: unconfined, the same act succeeds.
		if alone {
			continue
		}
		if act.Unconfined == sandbox.Anyone || root && act.Unconfined == sandbox.RootUser {
			got := m[sandbox.Off][act.Name]
			if _, err := os.Stat("/dev/kmsg"); act.Name == "raw_device" && errors.Is(err, fs.ErrNotExist) {
				got = "absent" // as in a container
			}
			assert.Contains(t, []string{"allowed", "absent"}, first(got), "%s at level off: %s", act.Name, got)
		}
	}
}

func first(line string) string {
	word, _, _ := strings.Cut(line, " ")
	return word
}

// probeBase makes a directory outside the places that a sandbox hides.
func probeBase(t *testing.T) string {
	t.Helper()
	base := testneed.VisibleDir(t)
	if built := os.Getenv("PROBE_PROGRAM"); built != "" { // without Go, see .ci/kernels
		program, err := os.ReadFile(built)
		require.NoError(t, err)
		testfile.Program(t, filepath.Join(base, "probe"), string(program))
	} else {
		build := exec.Command("go", "build", "-o", filepath.Join(base, "probe"), "./testdata/probe")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	testfile.Program(t, filepath.Join(base, "host"), string(self))
	return base
}

func probeAs(t *testing.T, base string, uid int) matrix {
	t.Helper()
	dir := filepath.Join(base, fmt.Sprint("user-", uid))
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, uid, uid))
	host := exec.Command(filepath.Join(base, "host"), "-test.run=^TestProbeHost$", "-test.v")
	host.Dir = dir
	host.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "PROBE_BASE=" + base,
		"TOOLHOST_MUTATION=" + os.Getenv("TOOLHOST_MUTATION"), // see tools/mutate
		probeLevels + "=" + os.Getenv(probeLevels),
	}
	if uid != os.Geteuid() {
		host.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := host.CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(filepath.Join(dir, "matrix.json"))
	require.NoError(t, err)
	var m matrix
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

// TestProbeHost is run by TestProbe in another process.
func TestProbeHost(t *testing.T) {
	base := testneed.Child(t, "PROBE_BASE", "TestProbe")
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "home"), 0o700))
	m := make(matrix)
	for _, level := range append(probed(), sandbox.Off) {
		m[level] = probe(t, filepath.Join(base, "probe"), newScene(t, filepath.Join(dir, string(level))), level)
	}
	data, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "matrix.json"), data, 0o600))
}

func probe(t *testing.T, program string, s scene, level sandbox.Level) map[string]string {
	argument, err := json.Marshal(s)
	require.NoError(t, err)
	policy := sandbox.Policy{
		Level: level, Workspace: s.Workspace, ReadOnly: []string{s.Protected}, MaskSecrets: []string{s.Masked},
	}
	r, err := proc.Run(t.Context(), proc.Command{
		Argv: []string{program, string(argument)}, Dir: s.Workspace, Timeout: 5 * time.Minute,
		Env: proc.Environ(map[string]string{"PROBE_CONTROL": map[bool]string{true: "1"}[level == sandbox.Off]}),
		Prepare: func(cmd *exec.Cmd) error {
			got, err := sandbox.Apply(cmd, policy)
			assert.Equal(t, level, got)
			return err
		},
	})
	require.NoError(t, err)
	require.Zero(t, r.ExitCode, r.Stderr.String())
	lines := make(map[string]string)
	for line := range strings.Lines(r.Stdout.String()) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[name] = outcome
	}
	lines["outlive"] = map[bool]string{true: "allowed", false: "denied"}[len(testproc.Running(t, s.Sleep)) > 0]
	return lines
}

type scene struct {
	Workspace, Outside string
	Secret, Masked     string
	HostTmp            string
	Protected          string
	Pid                int
	SharedMemory       int
	TCP4, TCP6, UDP    string
	Unix, Abstract     string
	Sleep              string
}

func newScene(t *testing.T, dir string) scene {
	home := os.Getenv("HOME")
	s := scene{
		Workspace: filepath.Join(dir, "workspace"), Outside: filepath.Join(dir, "outside"),
		Secret: filepath.Join(home, ".ssh", "id_ed25519"), Masked: filepath.Join(dir, "masked"),
		Protected: filepath.Join(dir, "workspace", "config", "hooks"),
		Sleep:     string(testproc.Sleep(t)),
	}
	s.Abstract = "toolhost-probe-" + s.Sleep
	for _, d := range []string{s.Outside, s.Protected, filepath.Dir(s.Secret), filepath.Join(s.Outside, "rmdir")} {
		require.NoError(t, os.MkdirAll(d, 0o700))
	}
	for _, name := range []string{
		"write", "append", "truncate", "unlink", "rename", "move", "link", "by-symlink", "chmod", "chown", "utimes",
		"setxattr",
		"fchmod", "flags", "lease", "proc-fd", "futimens", "chmod-symlink", "chmod-race",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Outside, name), []byte("canary"), 0o644))
	}
	require.NoError(t, os.Symlink(filepath.Join(s.Outside, "by-symlink"), filepath.Join(s.Workspace, "way-out")))
	require.NoError(t, unix.Mkfifo(filepath.Join(s.Outside, "fifo"), 0o644))
	for _, name := range []string{s.Secret, s.Masked, filepath.Join(s.Protected, "file")} {
		require.NoError(t, os.WriteFile(name, []byte("secret"), 0o600))
	}
	tmp, err := os.CreateTemp("/tmp", "toolhost-probe-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Remove(tmp.Name()) })
	s.HostTmp = tmp.Name()
	s.neighbours(t, dir)
	return s
}

// neighbours starts a process, shared memory and servers outside.
func (s *scene) neighbours(t *testing.T, dir string) {
	canary := exec.Command("/bin/sleep", "120")
	canary.Env = []string{"SECRET=planted"}
	require.NoError(t, canary.Start())
	t.Cleanup(func() { _ = canary.Process.Kill(); _ = canary.Wait() })
	s.Pid = canary.Process.Pid
	var err error
	s.SharedMemory, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(s.SharedMemory, unix.IPC_RMID, nil) })
	s.Unix = filepath.Join(dir, "socket")
	s.TCP4 = listen(t, "tcp", "127.0.0.1:0")
	s.TCP6 = listen(t, "tcp", "[::1]:0")
	listen(t, "unix", s.Unix)
	listen(t, "unix", "@"+s.Abstract)
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = packets.Close() })
	s.UDP = packets.LocalAddr().String()
	go func() {
		buf := make([]byte, 16)
		for {
			n, from, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(buf[:n], from)
		}
	}()
}

// listen returns the address, or "" if the machine has no such network.
func listen(t *testing.T, network, address string) string {
	listener, err := net.Listen(network, address)
	if err != nil && strings.Contains(address, "::1") {
		return ""
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}
