package background

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/proc"
)

func mkfifoat(dir int, _, name string) error { return unix.Mkfifoat(dir, name, 0o600) }

// becomeReaper makes orphans among the task's processes children of the
// supervisor, so that none can hide.
func becomeReaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// reapInterval is how often orphans that have ended are taken off the list of
// processes.
const reapInterval = 5 * time.Second

// reapOrphans collects ended orphans, and never the command itself.
func reapOrphans(ctx context.Context, command int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reapInterval):
		}
		for _, pid := range children(os.Getpid()) {
			if pid != command {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// killRounds bounds the hunt for processes that fork faster than they die.
const killRounds = 1000

// killDescendants ends all that is left when the command has ended.
func killDescendants() {
	for range killRounds {
		left := children(os.Getpid())
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for {
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil || pid <= 0 {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// children lists the children of a process, ended ones too.
func children(parent int) (pids []int) {
	want := []byte(strconv.Itoa(parent))
	for _, pid := range proc.Processes() {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		// After the name in parentheses: the state, then the parent.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && bytes.Equal(fields[1], want) {
			pids = append(pids, pid)
		}
	}
	return pids
}
