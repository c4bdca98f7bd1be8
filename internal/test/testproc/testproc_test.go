package testproc_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func TestSleep(t *testing.T) {
	var pid int
	ended := make(chan error, 1)
	t.Run("left behind", func(t *testing.T) {
		sleep := testproc.Sleep(t)
		cmd := exec.Command(testneed.Program(t, "sleep"), sleep.Number())
		require.NoError(t, cmd.Start())
		go func() { ended <- cmd.Wait() }()
		pid = cmd.Process.Pid
		assert.True(t, testproc.Alive(pid))
		if runtime.GOOS != "linux" {
			require.NoError(t, cmd.Process.Kill())
		} else {
			require.Eventually(t, func() bool { return len(sleep.Running(t)) == 1 }, time.Minute, time.Millisecond)
			assert.Equal(t, pid, sleep.Running(t)[0].PID)
		}
		assert.NotEqual(t, sleep, testproc.Sleep(t))
	})
	assert.Error(t, testproc.Receive(t, ended), "it is killed")
	testproc.Gone(t, pid)
	assert.False(t, testproc.Alive(pid))
}

func TestGone(t *testing.T) {
	testneed.OnlyOn(t, "linux", "only Linux tells")
	sleep := testproc.Sleep(t)
	cmd := exec.Command(testneed.Program(t, "sleep"), sleep.Number())
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	require.NoError(t, cmd.Process.Kill())
	testproc.Gone(t, cmd.Process.Pid) // a zombie does not count
	sleep.Gone(t)
	assert.Regexp(t, `^`+fmt.Sprint(os.Getpid())+`, state [RS], child of \d+: `+regexp.QuoteMeta(os.Args[0]),
		testproc.Describe(os.Getpid()))
}

func TestOpenFiles(t *testing.T) {
	testneed.OnlyOn(t, "linux", "only Linux tells")
	before := testproc.OpenFiles(t)
	f, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, before+1, testproc.OpenFiles(t))
}

type failing struct {
	testing.TB
	said     string
	cleanups []func()
}

func (f *failing) Cleanup(do func())                   { f.cleanups = append(f.cleanups, do) }
func (f *failing) Errorf(format string, values ...any) { f.said = fmt.Sprintf(format, values...) }
func (f *failing) Fatalf(format string, values ...any) { f.said = fmt.Sprintf(format, values...) }

func TestUnchanged(t *testing.T) {
	testneed.OnlyOn(t, "linux", "only Linux tells")
	for name, c := range map[string]struct {
		leave func(t *testing.T) (end func())
		said  string
	}{
		"nothing": {leave: func(*testing.T) func() { return func() {} }},
		"a file": {func(t *testing.T) func() {
			f, err := os.CreateTemp("", "left")
			require.NoError(t, err)
			return func() { f.Close() }
		}, "temporary files: [- left"},
		"a descriptor": {func(t *testing.T) func() {
			f, err := os.Open("/")
			require.NoError(t, err)
			return func() { f.Close() }
		}, "others than before:\n"},
		"a goroutine": {func(*testing.T) func() {
			stop := make(chan struct{})
			go func() { <-stop }()
			return func() { close(stop) }
		}, "goroutines, before"},
		"a process": {func(t *testing.T) func() {
			cmd := exec.Command(testneed.Program(t, "sleep"), testproc.Sleep(t).Number())
			require.NoError(t, cmd.Start())
			return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
		}, "child processes, before"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &failing{TB: t}
			testproc.UnchangedWithin(f, 50*time.Millisecond)
			defer c.leave(t)()
			f.cleanups[0]()
			if c.said == "" {
				assert.Empty(t, f.said)
				return
			}
			assert.Contains(t, f.said, c.said)
		})
	}
}

func TestOverdue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	ctx, cancel := context.WithCancel(testproc.Overdue(t, path))
	defer cancel()
	assert.NoError(t, ctx.Err())
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	testproc.Receive(t, ctx.Done())
	assert.Equal(t, context.DeadlineExceeded, ctx.Err())
}

func TestWhenExists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	done := make(chan struct{})
	testproc.WhenExists(t, path, func() { close(done) })
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	testproc.Receive(t, done)
}

// Another run on the machine, or a killed one, would have the same process if the number were fixed.
func TestNumbersOfSleepAreDrawn(t *testing.T) {
	const root = "../../.."
	fixed, read := regexp.MustCompile(`\bsleep [1-9]\d+`), 0
	for _, dir := range []string{"internal", "taskfile", "builtin", "host", "config", "plugins", "examples"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			read++
			text, err := os.ReadFile(path)
			assert.Empty(t, fixed.FindAllString(string(text), -1), "%s: testproc.Sleep draws a number", path)
			return err
		}))
	}
	assert.Greater(t, read, 200, "control: the tests are there")
}
