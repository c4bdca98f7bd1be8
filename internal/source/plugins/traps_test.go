package plugins_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func linuxOnly(t *testing.T) {
	testneed.OnlyOn(t, "linux", "needs /proc and the parent-death signal of Linux")
}

// A stopped process answers nothing, and go-plugin waits for it forever.
func TestCloseEndsAStoppedPlugin(t *testing.T) {
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	pid := pidOf(t, tools["do"])
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	began := time.Now()
	require.NoError(t, f.Close())
	assert.Less(t, time.Since(began), time.Minute)
	assert.False(t, testproc.Alive(pid))
}

func TestCloseDuringTheStart(t *testing.T) {
	for kind, pause := range map[string]time.Duration{"silent": 0, "mute": 30 * time.Millisecond, "faulty": 0} {
		for range 5 {
			f := newFixture(t)
			spec := testPlugin(t, kind)
			spec.StartTimeout = time.Hour
			require.NoError(t, f.Add(spec))
			done := make(chan error, 1)
			go func() {
				_, err := f.Source(kind).Tools(t.Context())
				done <- err
			}()
			eventually(t, "it starts", func() bool { return f.status(t, kind).State != plugins.Idle })
			time.Sleep(pause) // at any stage of the start
			began := time.Now()
			require.NoError(t, f.Close())
			assert.Less(t, time.Since(began), time.Minute)
			if err := testproc.Receive(t, done); err != nil || kind != "faulty" {
				assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
				assert.ErrorContains(t, err, "was ended with the host")
			}
			pause += time.Millisecond
		}
	}
}

func TestCloseLeavesNoFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "th")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	f := newFixture(t, func(o *plugins.Options) { o.Dir = dir })
	tools := f.add(t, testPlugin(t, "faulty"))
	pidOf(t, tools["do"])
	_, _ = do(t.Context(), tools["do"], "exit", "")
	pidOf(t, tools["do"])
	var inner []string
	eventually(t, "the directory of the crashed one is gone", func() bool {
		inner, err = filepath.Glob(dir + "/*/plugin-dir*")
		return err == nil && len(inner) == 1
	})
	info, err := os.Stat(filepath.Dir(inner[0]))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, f.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Under serve, the host's standard input is the MCP stream.
func TestPluginDoesNotGetTheHostsStandardInput(t *testing.T) {
	linuxOnly(t)
	f := newFixture(t)
	tools := f.add(t, testPlugin(t, "faulty"))
	own, err := os.Readlink("/proc/self/fd/0")
	require.NoError(t, err)
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pidOf(t, tools["do"])))
	require.NoError(t, err)
	assert.NotEqual(t, own, theirs)
	assert.Contains(t, theirs, "pipe:")
}

func TestPluginGetsTheEnvironmentItWasGranted(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "do not tell")
	t.Setenv("LC_TIME", "C")
	f := newFixture(t)
	spec := testPlugin(t, "faulty")
	spec.Env["GRANTED"] = "yes"
	spec.Env["PLUGIN_PROTOCOL_VERSIONS"] = "7" // does not override the protocol
	tools := f.add(t, spec)
	r, err := do(t.Context(), tools["do"], "env", "")
	env := text(t, r, err)
	assert.NotContains(t, env, "do not tell")
	assert.Contains(t, env, "GRANTED=yes")
	assert.Contains(t, env, "LC_TIME=C")
	assert.Contains(t, env, "PATH=")
}

func TestWhatAPluginStartedEndsWithIt(t *testing.T) {
	linuxOnly(t)
	for _, end := range []string{"close", "crash"} {
		f := newFixture(t)
		tools := f.add(t, testPlugin(t, "faulty"))
		r, err := do(t.Context(), tools["do"], "child", testproc.Sleep(t).Number())
		var pids []int
		for _, s := range strings.Fields(text(t, r, err)) {
			pid, err := strconv.Atoi(s)
			require.NoError(t, err)
			assert.True(t, testproc.Alive(pid))
			pids = append(pids, pid)
		}
		if end == "close" {
			require.NoError(t, f.Close())
		} else {
			_, err := do(t.Context(), tools["do"], "exit", "")
			require.ErrorContains(t, err, "exit status 7")
		}
		testproc.Gone(t, pids...)
	}
}

// TestHostThatIsKilled is the host of TestNoPluginOutlivesTheHost.
func TestHostThatIsKilled(t *testing.T) {
	testneed.Child(t, "TEST_HOST", "TestNoPluginOutlivesTheHost")
	f := newFixture(t)
	pid := pidOf(t, f.add(t, testPlugin(t, os.Getenv("TEST_HOST")))["do"])
	fmt.Println("plugin", pid)
	if os.Getenv("TEST_STOPPED") != "" {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
	select {}
}

func TestNoPluginOutlivesTheHost(t *testing.T) {
	linuxOnly(t)
	program, err := os.Executable()
	require.NoError(t, err)
	for _, env := range [][]string{{"TEST_HOST=faulty"}, {"TEST_HOST=deaf"}, {"TEST_HOST=deaf", "TEST_STOPPED=1"}} {
		host := exec.Command(program, "-test.run=^TestHostThatIsKilled$")
		host.Env = append(append(os.Environ(), env...), "TMPDIR="+t.TempDir()) // a killed host removes nothing
		out, err := host.Output()
		require.Error(t, err)
		_, after, ok := strings.Cut(string(out), "plugin ")
		require.True(t, ok, string(out))
		pid, err := strconv.Atoi(strings.Fields(after)[0])
		require.NoError(t, err)
		testproc.Gone(t, pid)
	}
}

func TestLeftoverDirectoriesOfKilledHostsAreSwept(t *testing.T) {
	dir, err := os.MkdirTemp("", "th")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	left := filepath.Join(dir, "toolhost-1")
	require.NoError(t, os.Mkdir(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "lock"), nil, 0o600))
	foreign := filepath.Join(dir, "toolhost-notes")
	require.NoError(t, os.Mkdir(foreign, 0o700))

	running := newFixture(t, func(o *plugins.Options) { o.Dir = dir })
	pidOf(t, running.add(t, testPlugin(t, "faulty"))["do"])
	other := newFixture(t, func(o *plugins.Options) { o.Dir = dir })
	pidOf(t, other.add(t, testPlugin(t, "faulty"))["do"])
	assert.NoDirExists(t, left)
	assert.DirExists(t, foreign)
	pidOf(t, running.tools(t, "faulty")["do"])
}

func checksum(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	testfile.Program(t, to, testfile.Read(t, program))
}

func TestChecksumIsOfTheProgramThatRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugin")
	copyProgram(t, path)
	spec := testPlugin(t, "faulty")
	spec.Path, spec.SHA256 = path, strings.ToUpper(checksum(t, path))
	f := newFixture(t)
	tools := f.add(t, spec)
	pid := pidOf(t, tools["do"])
	if runtime.GOOS == "linux" {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		require.NoError(t, err)
		assert.Equal(t, path, exe)
	}
	assert.Equal(t, strings.ToLower(spec.SHA256), f.status(t, "faulty").SHA256)

	wrong := newFixture(t)
	spec.SHA256 = strings.Repeat("0", 64)
	require.NoError(t, wrong.Add(spec))
	_, err := wrong.Source("faulty").Tools(t.Context())
	assert.Equal(t, tool.Blocked, tool.CodeOf(err))
	assert.ErrorContains(t, err, "is not the one that was locked")
}

// The checksum is known from an earlier start. A program changed since, with size and modification time
// restored, must not pass.
func TestCachedChecksumDoesNotCoverAChangedProgram(t *testing.T) {
	linuxOnly(t)
	path := filepath.Join(t.TempDir(), "plugin")
	copyProgram(t, path)
	time.Sleep(100 * time.Millisecond) // the age from which a checksum is cached
	spec := testPlugin(t, "faulty")
	spec.Path, spec.SHA256 = path, checksum(t, path)
	first := newFixture(t)
	pidOf(t, first.add(t, spec)["do"])
	require.NoError(t, first.Close())

	info, err := os.Stat(path)
	require.NoError(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{1}, info.Size()-1)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))

	second := newFixture(t, func(o *plugins.Options) { o.CacheDir = first.options.CacheDir })
	tools := second.add(t, spec)
	_, err = do(t.Context(), tools["do"], "pid", "")
	assert.Equal(t, tool.Blocked, tool.CodeOf(err))
}

// The name is replaced between check and start.
func TestProgramReplacedDuringTheStartDoesNotRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugin")
	copyProgram(t, path)
	marker := filepath.Join(t.TempDir(), "evil")
	spec := testPlugin(t, "faulty")
	spec.Path, spec.SHA256 = path, checksum(t, path)
	f := newFixture(t, func(o *plugins.Options) {
		o.Prepare = func(l plugins.Launch) error {
			evil := path + ".evil"
			if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+marker+"\n"), 0o755); err != nil {
				return err
			}
			return os.Rename(evil, path)
		}
	})
	require.NoError(t, f.Add(spec))
	_, err := f.Source("faulty").Tools(t.Context())
	assert.ErrorContains(t, err, "was replaced while it was started")
	if runtime.GOOS == "linux" {
		assert.NoFileExists(t, marker)
	}
}

func TestPrepareMayRefuse(t *testing.T) {
	var seen plugins.Launch
	f := newFixture(t, func(o *plugins.Options) {
		o.Prepare = func(l plugins.Launch) error {
			seen = l
			return tool.Errorf(tool.Unavailable, "no sandbox works here").Suggest("Turn it off.")
		}
	})
	require.NoError(t, f.Add(testPlugin(t, "faulty")))
	_, err := f.Source("faulty").Tools(t.Context())
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.ErrorContains(t, err, "no sandbox works here")
	assert.Equal(t, "faulty", seen.Plugin)
	assert.NotEmpty(t, seen.SocketDir)
	assert.NoDirExists(t, seen.SocketDir)
}

func TestNoGoroutineAndNoFileIsLeft(t *testing.T) {
	testneed.NotShort(t, "starts many plugins")
	linuxOnly(t)
	round := func() {
		f := newFixture(t)
		tools := f.add(t, testPlugin(t, "faulty"))
		pidOf(t, tools["do"])
		_, _ = do(t.Context(), tools["do"], "exit", "")
		pidOf(t, tools["do"])
		require.NoError(t, f.Add(testPlugin(t, "exits")))
		_, _ = f.Source("exits").Tools(t.Context())
		require.NoError(t, f.Close())
	}
	round()
	testproc.Unchanged(t)
	for range 10 {
		round()
	}
}
