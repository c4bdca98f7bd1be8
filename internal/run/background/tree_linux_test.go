package background

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// stubborn are commands whose processes resist ending. SLEEP marks them; each prints "ready" when all have
// started.
var stubborn = map[string]string{
	"ignores SIGTERM":    `trap "" TERM INT HUP; echo ready; while :; do sleep 0.1; done # SLEEP`,
	"double fork":        `( ( trap "" TERM; exec SLEEP ) & ) ; echo ready; exec SLEEP`,
	"session of its own": `setsid sh -c 'trap "" TERM; SLEEP; true' & echo ready; exec SLEEP`,
	hider:                `setsid sh -c 'env -i sh -c "trap \"\" TERM; echo ready; SLEEP; true" &' ; exec SLEEP`,
}

// hider clears its environment, leaves the session and loses its parent.
const hider = "hides with double fork"

func TestKillLeavesNothing(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	testneed.Program(t, "setsid")
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Landlock, sandbox.Full} {
		for name, line := range stubborn {
			if level == sandbox.Off && name == hider {
				continue // not found there, see package proc
			}
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				t.Parallel()
				needLevel(t, level)
				s, root := open(t, Options{})
				sleep := testproc.Sleep(t)
				spec := shell(root, strings.ReplaceAll(line, "SLEEP", string(sleep)))
				spec.Confine = policy(root, level)
				task := start(t, s, spec)
				require.Eventually(t, func() bool { return output(t, s, task.ID).Stdout.String() == "ready\n" },
					patience, 5*time.Millisecond)
				sleep.Started(t)
				killed, already, err := s.Kill(context.Background(), task.ID)
				require.NoError(t, err)
				assert.False(t, already)
				assert.Equal(t, Killed, killed.State)
				sleep.Gone(t)
				assert.Equal(t, "ready\n", output(t, s, task.ID).Stdout.String())
			})
		}
	}
}

func needLevel(t *testing.T, level sandbox.Level) {
	t.Helper()
	if level != sandbox.Off {
		testneed.NotShort(t, "needs a level of the sandbox")
	}
	report := sandbox.Detect(context.Background())
	verdict := sandbox.Verdict{Works: true}
	switch level {
	case sandbox.Full:
		verdict = report.Full
	case sandbox.Landlock:
		verdict = report.Landlock
	}
	if !verdict.Works {
		testneed.Missing(t, "sandbox level "+string(level)+" does not work here: "+verdict.Reason)
	}
}

// TestDeathOfTheServer kills the program that runs a task. Without a PID namespace the command's remaining
// processes are ended when the task is next looked at.
func TestDeathOfTheServer(t *testing.T) {
	testneed.Program(t, "setsid")
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Landlock, sandbox.Full} {
		t.Run(string(level), func(t *testing.T) {
			needLevel(t, level)
			s, root := open(t, Options{})
			sleep := testproc.Sleep(t)
			server, id := other(t, root, level, "setsid "+string(sleep)+" & echo ready; exec "+string(sleep))
			require.Eventually(t, func() bool { return output(t, s, id).Stdout.String() == "ready\n" }, patience,
				5*time.Millisecond)
			sleep.Started(t)
			require.NoError(t, server.Process.Kill())
			_ = server.Wait()
			most := 1
			if level == sandbox.Full {
				most = 0
			}
			require.Eventually(t, func() bool { return len(sleep.Running(t)) <= most }, patience,
				5*time.Millisecond, "the command is ended by the kernel")
			lost := wait(t, s, id)
			assert.Equal(t, Lost, lost.State)
			assert.Equal(t, "the program that ran it was killed", lost.Reason)
			sleep.Gone(t)
			_, already, err := s.Kill(context.Background(), id)
			require.NoError(t, err)
			assert.True(t, already)
			assert.Equal(t, "ready\n", output(t, s, id).Stdout.String())
		})
	}
}

// TestFlood prints a gigabyte: what is kept is bounded, and counts it all.
func TestFlood(t *testing.T) {
	testneed.NotShort(t, "writes much output")
	s, root := open(t, Options{})
	needLevel(t, sandbox.Full)
	spec := shell(root, "yes 0123456789abcde | head -c 1073741824; echo; echo the end")
	spec.Confine = policy(root, sandbox.Full)
	task := start(t, s, spec)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ended, err := s.Wait(ctx, task.ID)
	require.NoError(t, err)
	require.Equal(t, Completed, ended.State)
	o := output(t, s, task.ID).Stdout
	assert.EqualValues(t, 1<<30+len("\nthe end\n"), o.Bytes)
	assert.EqualValues(t, 1<<26+2, o.Lines)
	assert.EqualValues(t, DefaultOutputCap, len(o.Head)+len(o.Tail))
	assert.EqualValues(t, o.Bytes-DefaultOutputCap, o.Omitted)
	assert.True(t, strings.HasSuffix(string(o.Tail), "abcde\n\nthe end\n"))
	var size int64
	require.NoError(t, filepath.Walk(s.dir, func(_ string, info os.FileInfo, err error) error {
		size += info.Size()
		return err
	}))
	assert.Less(t, size, int64(DefaultOutputCap+64<<10))
}

// TestOwnRecordsAreOutOfReach has a confined task try to change its own record.
func TestOwnRecordsAreOutOfReach(t *testing.T) {
	needLevel(t, sandbox.Full)
	s, root := open(t, Options{})
	spec := shell(root,
		"for f in "+s.dir+"/*/*; do echo x >$f && echo wrote $f; done; rm -rf "+s.dir+"/*; mkdir fine && echo made")
	spec.Confine = policy(root, sandbox.Full)
	task := start(t, s, spec)
	wait(t, s, task.ID)
	assert.Equal(t, "made\n", output(t, s, task.ID).Stdout.String())
}
