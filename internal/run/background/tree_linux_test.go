package background

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/testneed"
	"github.com/toolhost/toolhost/internal/testproc"
)

// stubborn are commands whose processes do not want to end. %s marks them;
// each prints "ready" when all are there.
var stubborn = map[string]string{
	"ignores SIGTERM":        `trap "" TERM INT HUP; echo ready; while :; do sleep 0.%s; done`,
	"double fork":            `( ( trap "" TERM; exec sleep 1000.%s ) & ) ; echo ready; exec sleep 1000.%s`,
	"session of its own":     `setsid sh -c 'trap "" TERM; sleep 1000.%s; true' & echo ready; exec sleep 1000.%s`,
	"hides with double fork": `setsid sh -c 'env -i sh -c "trap \"\" TERM; sleep 1000.%s; true" &' ; echo ready; exec sleep 1000.%s`,
}

// TestKillLeavesNothing kills tasks at every level of confinement, by order
// and by the death of their supervisor.
func TestKillLeavesNothing(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	testneed.Program(t, "setsid")
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Landlock, sandbox.Full} {
		for name, line := range stubborn {
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				t.Parallel()
				needLevel(t, level)
				s := open(t, Options{})
				mark := strconv.FormatInt(time.Now().UnixNano(), 10)
				spec := shell(s.options.Root, strings.ReplaceAll(line, "%s", mark))
				spec.Confine = policy(s.options.Root, level)
				task := start(t, s, spec)
				require.Eventually(t, func() bool { return output(t, s, task.ID).Stdout.String() == "ready\n" },
					patience, 5*time.Millisecond)
				require.NotEmpty(t, testproc.Running(t, mark))
				killed, already, err := s.Kill(context.Background(), task.ID)
				require.NoError(t, err)
				assert.False(t, already)
				assert.Equal(t, Killed, killed.State)
				assert.Empty(t, testproc.Running(t, mark))
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

// TestDeathOfTheSupervisor kills the supervisor itself.
func TestDeathOfTheSupervisor(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Full} {
		t.Run(string(level), func(t *testing.T) {
			needLevel(t, level)
			s := open(t, Options{})
			mark := strconv.FormatInt(time.Now().UnixNano(), 10)
			spec := shell(s.options.Root, "setsid sleep 1000."+mark+" & echo ready; exec sleep 1000."+mark)
			spec.Confine = policy(s.options.Root, level)
			task := start(t, s, spec)
			require.Eventually(t, func() bool { return output(t, s, task.ID).Stdout.String() == "ready\n" }, patience,
				5*time.Millisecond)
			for _, pid := range supervisorsOf(t, s, task.ID) {
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			}
			lost := wait(t, s, task.ID)
			assert.Equal(t, Lost, lost.State)
			_, already, err := s.Kill(context.Background(), task.ID)
			require.NoError(t, err)
			assert.True(t, already)
			require.Eventually(t, func() bool { return len(testproc.Running(t, mark)) == 0 }, patience,
				5*time.Millisecond, "nothing is left")
		})
	}
}

// supervisorsOf finds who holds the lock of a task.
func supervisorsOf(t *testing.T, s *Store, id string) (pids []int) {
	t.Helper()
	lock, err := filepath.EvalSymlinks(filepath.Join(s.dir, id, lockFile))
	require.NoError(t, err)
	for _, pid := range proc.Processes() {
		if target, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/3"); err == nil && target == lock {
			pids = append(pids, pid)
		}
	}
	require.Len(t, pids, 1)
	return pids
}

// TestFlood has a task print a gigabyte: what is kept on disk and given out
// stays within bounds, and says how much there was.
func TestFlood(t *testing.T) {
	testneed.NotShort(t, "writes much output")
	const limit = 4 << 20
	s := open(t, Options{DiskLimit: limit})
	needLevel(t, sandbox.Full)
	spec := shell(s.options.Root, "yes 0123456789abcde | head -c 1073741824; echo; echo the end")
	spec.Confine = policy(s.options.Root, sandbox.Full)
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
	assert.EqualValues(t, limit, o.PathBytes)
	var size int64
	require.NoError(t, filepath.Walk(s.dir, func(_ string, info os.FileInfo, err error) error {
		size += info.Size()
		return err
	}))
	assert.Less(t, size, int64(limit+ringSize+64<<10))
}

// TestOwnRecordsAreOutOfReach has a confined task try to change what is
// written about it.
func TestOwnRecordsAreOutOfReach(t *testing.T) {
	needLevel(t, sandbox.Full)
	s := open(t, Options{})
	spec := shell(s.options.Root,
		"for f in "+s.dir+"/*/*; do test -p $f || { echo x >$f && echo wrote $f; }; done; rm -rf "+
			s.dir+"/*; mkdir fine && echo made")
	spec.Confine = policy(s.options.Root, sandbox.Full)
	task := start(t, s, spec)
	wait(t, s, task.ID)
	assert.Equal(t, "made\n", output(t, s, task.ID).Stdout.String())
}
