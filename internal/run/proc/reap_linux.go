package proc

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the process when the host dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// waitExit waits for the command to end without reaping it, so that its number is not reused.
func waitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func unread(pipe *os.File) (found bool) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	_ = conn.Control(func(fd uintptr) {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		found = err == nil && n > 0
	})
	return found
}

// anyLeft reports whether a process of the run besides the command is alive.
func (r *run) anyLeft() bool { return len(r.left()) > 0 }

// signalLeft sends a signal to every remaining process of the run, and reports whether there was one.
func (r *run) signalLeft(sig syscall.Signal) (found bool) {
	for _, pid := range r.left() {
		found = r.signal(pid, sig) || found
	}
	return found
}

// signal signals pid if it is still the same process.
func (r *run) signal(pid int, sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if members, _ := r.family([]int{pid}); len(members) == 0 {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.Signal(sig), nil, 0) == nil
}

// left returns the living processes of the run besides the command. One in the middle of an exec has no
// environment for a moment; it gets more tries.
func (r *run) left() []int {
	for range 5 {
		members, unsure := r.family(candidates(r.cmd.Process.Pid))
		if !unsure {
			return members
		}
		time.Sleep(200 * time.Microsecond)
	}
	members, _ := r.family(candidates(r.cmd.Process.Pid))
	return members
}

// family returns those of pids that belong to the run: they carry its mark, or are in the group or session or
// are children of one that does. unsure is set if one of the others has no environment.
func (r *run) family(pids []int) (members []int, unsure bool) {
	leader := r.cmd.Process.Pid
	if r.descendants == nil {
		r.descendants = map[int]bool{leader: true}
	}
	want := []byte("\x00" + r.mark + "\x00")
	others := make(map[int]relations)
	for _, pid := range pids {
		related, alive := relationsOf(pid)
		if !alive || pid == leader {
			continue
		}
		environ, readable := readProc("/proc/"+strconv.Itoa(pid)+"/environ", maxEnviron)
		if bytes.HasPrefix(environ, want[1:]) || bytes.Contains(environ, want) {
			members = append(members, pid)
			r.descendants[pid] = true
			continue
		}
		others[pid] = related
		unsure = unsure || readable && len(environ) == 0
	}
	return append(members, r.relatives(others)...), unsure
}

// relatives returns those of others that descend from known members, and makes them known.
func (r *run) relatives(others map[int]relations) (members []int) {
	for grown := true; grown; {
		grown = false
		for pid, related := range others {
			if slices.ContainsFunc(related[:], func(id int) bool { return r.descendants[id] }) {
				members, grown = append(members, pid), true
				r.descendants[pid] = true
				delete(others, pid)
			}
		}
	}
	return members
}

// fewPids is up to how many process numbers are tried one by one instead of listing /proc.
const fewPids = 1024

// candidates returns the processes that may be younger than leader: usually none, which one small read shows.
func candidates(leader int) []int {
	last := lastPid()
	if last == leader {
		return nil
	}
	var pids []int
	if last > leader && last-leader <= fewPids {
		for pid := leader + 1; pid <= last; pid++ {
			pids = append(pids, pid)
		}
		return pids
	}
	return slices.DeleteFunc(Processes(), func(pid int) bool {
		// Numbers wrap: a smaller one means nothing if the last is smaller.
		return pid == os.Getpid() || pid <= leader && last >= leader
	})
}

// lastPid returns the number most recently given to a process or thread, 0 if unknown.
func lastPid() int {
	loadavg, _ := readProc("/proc/loadavg", 128)
	fields := bytes.Fields(loadavg)
	if len(fields) != 5 {
		return 0
	}
	pid, _ := strconv.Atoi(string(fields[4]))
	return pid
}

const kernelThread = 0x200000

// relations are a process's parent, group and session.
type relations [3]int

// relationsOf returns the relations of a living process, except kernel threads.
func relationsOf(pid int) (related relations, alive bool) {
	stat, _ := readProc("/proc/"+strconv.Itoa(pid)+"/stat", 1024)
	// The program's name, in parentheses, may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 7 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return related, false
	}
	if flags, _ := strconv.Atoi(string(fields[6])); flags&kernelThread != 0 {
		return related, false
	}
	for i := range related {
		related[i], _ = strconv.Atoi(string(fields[i+1]))
	}
	return related, true
}

// maxEnviron bounds how much of a process's environment is read.
const maxEnviron = 4 << 20

// readProc reads a small file without the cost of an os.File, and reports whether it exists.
func readProc(path string, limit int) (data []byte, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 4096)
	for len(buf) < limit {
		buf = slices.Grow(buf, 2048)
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if err != nil {
			return buf, false
		}
		if n <= 0 {
			break
		}
		buf = buf[:len(buf)+n]
	}
	return buf, true
}
