package testproc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func TestProcess(t *testing.T) {
	cmd := exec.Command(testneed.Program(t, "sleep"), "4270001")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	assert.True(t, testproc.Alive(cmd.Process.Pid))
	if runtime.GOOS == "linux" {
		require.Eventually(t, func() bool { return len(testproc.Running(t, "sleep 4270001")) == 1 }, time.Minute,
			time.Millisecond)
		assert.Equal(t, cmd.Process.Pid, testproc.Running(t, "sleep 4270001")[0].PID)
	}
	require.NoError(t, cmd.Process.Kill())
	if runtime.GOOS == "linux" {
		require.Eventually(t, func() bool { return !testproc.Alive(cmd.Process.Pid) }, time.Minute, time.Millisecond,
			"a zombie does not count")
	}
	assert.Empty(t, testproc.Running(t, "sleep 4270001"))
	require.Error(t, cmd.Wait())
	assert.False(t, testproc.Alive(cmd.Process.Pid))
}

func TestOpenFiles(t *testing.T) {
	testneed.OnlyOn(t, "linux", "only Linux tells")
	before := testproc.OpenFiles(t)
	f, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, before+1, testproc.OpenFiles(t))
}

// failing is a test of which only whether it failed is asked.
type failing struct {
	testing.TB
	said     string
	cleanups []func()
}

func (f *failing) Cleanup(do func())                   { f.cleanups = append(f.cleanups, do) }
func (f *failing) Errorf(format string, values ...any) { f.said = fmt.Sprintf(format, values...) }

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
		}, "open files, before"},
		"a goroutine": {func(*testing.T) func() {
			stop := make(chan struct{})
			go func() { <-stop }()
			return func() { close(stop) }
		}, "goroutines, before"},
		"a process": {func(t *testing.T) func() {
			cmd := exec.Command(testneed.Program(t, "sleep"), "600")
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

func TestWhenExists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	done := make(chan struct{})
	testproc.WhenExists(t, path, func() { close(done) })
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	<-done
}
