package testproc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
	"github.com/toolhost/toolhost/internal/testproc"
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

func TestWhenExists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	done := make(chan struct{})
	testproc.WhenExists(t, path, func() { close(done) })
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	<-done
}
