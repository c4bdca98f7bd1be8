package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killRounds bounds the search for processes that fork faster than they die.
const killRounds = 1000

// execLooks is how often a process in the middle of an exec is checked again.
const execLooks = 100

// KillMarked kills every process with the entry NAME=value in its environment, until none is left. It finds
// processes with their own group or session, but not those that cleared their environment. It does nothing
// except on Linux.
func KillMarked(entry string) {
	mark := []byte("\x00" + entry + "\x00")
	for range killRounds {
		found, pids := false, Processes()
		for look := 0; len(pids) > 0 && look < execLooks; look++ {
			var inExec []int
			for _, pid := range pids {
				killed, unsure := killIfMarked(pid, mark)
				found = found || killed
				if unsure {
					inExec = append(inExec, pid)
				}
			}
			if pids = inExec; len(pids) > 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// killIfMarked kills a process if it still is the one that was checked. unsure is set for one in the middle of
// an exec.
func killIfMarked(pid int, mark []byte) (killed, unsure bool) {
	if pid == os.Getpid() {
		return false, false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	environ, unsure := environOf(pid)
	if !bytes.Contains(append([]byte{0}, environ...), mark) {
		return false, unsure
	}
	return unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0) == nil, false
}

// environOf returns the environment of a process. In the middle of an exec it has neither environment nor
// arguments for a moment.
func environOf(pid int) (environ []byte, unsure bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	environ, _ = os.ReadFile(dir + "/environ") // empty if it has ended
	if len(environ) > 0 {
		return environ, false
	}
	if arguments, err := os.ReadFile(dir + "/cmdline"); err != nil || len(arguments) > 0 {
		environ, _ = os.ReadFile(dir + "/environ") // the exec may just have ended
		return environ, false
	}
	_, alive := relationsOf(pid)
	return nil, alive
}

// Processes lists the numbers of all processes in /proc.
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
