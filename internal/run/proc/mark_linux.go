package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killRounds bounds the hunt for processes that fork faster than they die.
const killRounds = 1000

// KillMarked ends every process with the entry NAME=value in its environment,
// and returns when none is left that can be ended. Processes that made a group
// or session of their own are found all the same, those that cleared their
// environment are not. On other systems than Linux it does nothing.
func KillMarked(entry string) {
	mark := []byte("\x00" + entry + "\x00")
	for range killRounds {
		found := false
		for _, pid := range Processes() {
			found = pid != os.Getpid() && killIfMarked(pid, mark) || found
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// killIfMarked makes sure that the process it looks at is the one it ends.
func killIfMarked(pid int, mark []byte) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // empty for one that has ended
	if !bytes.Contains(append([]byte{0}, environ...), mark) {
		return false
	}
	return unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0) == nil
}

// Processes lists the numbers of all processes that /proc shows.
func Processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
