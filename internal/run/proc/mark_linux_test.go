package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/proc"
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
	// Its own: the test may run twice at once on a machine.
	mark, sleep := fmt.Sprintf("MARK=one%d", os.Getpid()), fmt.Sprintf("sleep 472%d", 10_000_000+os.Getpid())
	marked := start(mark, `trap "" TERM; setsid sh -c 'touch "$READY"; `+sleep+`' & `+sleep)
	others := []*exec.Cmd{
		start(mark+"andmore", `touch "$READY"; exec sleep 4720002`),
		start("NO"+mark, `touch "$READY"; exec sleep 4720003`),
	}
	proc.KillMarked(mark)
	assert.Error(t, marked.Wait())
	assert.Empty(t, testproc.Running(t, sleep), "not even in a session of its own")
	for _, cmd := range others {
		assert.True(t, testproc.Alive(cmd.Process.Pid))
	}
}
