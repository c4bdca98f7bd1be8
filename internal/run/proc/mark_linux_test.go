package proc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func TestKillMarked(t *testing.T) {
	testneed.Program(t, "setsid")
	start := func(entry, script string) *exec.Cmd {
		ready := filepath.Join(t.TempDir(), "ready")
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Env = append(os.Environ(), entry, "READY="+ready)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, time.Minute,
			time.Millisecond)
		return cmd
	}
	sleep, others := testproc.Sleep(t), testproc.Sleep(t)
	mark := "MARK=" + sleep.Number()
	marked := start(mark, `trap "" TERM; setsid sh -c 'touch "$READY"; `+string(sleep)+`' & `+string(sleep))
	unmarked := []*exec.Cmd{
		start(mark+"andmore", `touch "$READY"; exec `+string(others)),
		start("NO"+mark, `touch "$READY"; exec `+string(others)),
	}
	proc.KillMarked(mark)
	assert.Error(t, marked.Wait())
	assert.Empty(t, sleep.Running(t), "not even in a session of its own")
	for _, cmd := range unmarked {
		assert.True(t, testproc.Alive(cmd.Process.Pid))
	}
}

// A process has no environment for a moment during an exec.
func TestKillMarkedInTheMiddleOfAnExec(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	testfile.Program(t, script, "#!/bin/sh\nexec \"$0\"\n")
	for range 20 {
		mark := "MARK=" + testproc.Sleep(t).Number()
		var ends []chan error
		for range 4 {
			cmd := exec.Command(script)
			cmd.Env = append(os.Environ(), mark)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			end := make(chan error, 1)
			go func() { end <- cmd.Wait() }()
			ends = append(ends, end)
		}
		proc.KillMarked(mark)
		for _, end := range ends {
			assert.ErrorContains(t, testproc.Receive(t, end), "killed")
		}
	}
}

// Searching for marked processes leaves no file open, not even of this process.
func TestKillMarkedKeepsNoFile(t *testing.T) {
	testproc.Unchanged(t)
	for range 10 {
		proc.KillMarked("MARK=" + testproc.Sleep(t).Number())
	}
}
