package plugins

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tieToHost has the kernel kill the process when the host dies, however.
func tieToHost(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitExit waits until the process has ended and leaves it as a zombie, so
// that its id still names it and its group when the group is killed.
func (g *processGroup) awaitExit() bool {
	for {
		err := unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// killRounds bounds the hunt for processes that start others meanwhile.
// Between two rounds those that were killed have killPause to end.
const (
	killRounds = 100
	killPause  = time.Millisecond
)

// killMarked kills every process that has the marker in its environment: those
// that made themselves a session or a group of their own, too.
func killMarked(marker string) {
	for range killRounds {
		found := marked(marker)
		if len(found) == 0 {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(killPause)
	}
}

func marked(marker string) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var found []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ") // empty for a zombie
		if err == nil && bytes.Contains(env, []byte(marker)) {
			found = append(found, pid)
		}
	}
	return found
}
