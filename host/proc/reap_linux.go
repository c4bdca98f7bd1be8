package proc

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel end the process when the host dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// waitExit waits for the command to end and leaves it unreaped, so that its
// number stays taken.
func waitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// anyLeft reports whether a process of the run is alive besides the command.
func (r *run) anyLeft() bool { return len(r.left()) > 0 }

// signalLeft sends a signal to every process that the run has left, and
// reports whether there was one.
func (r *run) signalLeft(sig syscall.Signal) (found bool) {
	for _, pid := range r.left() {
		found = r.signal(pid, sig) || found
	}
	return found
}

// signal makes sure that pid is still the process it was taken for.
func (r *run) signal(pid int, sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if !slices.Contains(r.family([]int{pid}), pid) {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.Signal(sig), nil, 0) == nil
}

// left lists the living processes of the run besides the command.
func (r *run) left() []int { return r.family(candidates(r.cmd.Process.Pid)) }

// family picks those of pids that belong to the run: they carry its mark, or
// are in the group or session or are children of one that belongs to it.
func (r *run) family(pids []int) []int {
	leader := r.cmd.Process.Pid
	if r.kin == nil {
		r.kin = map[int]bool{leader: true}
	}
	want := []byte(r.mark + "\x00")
	var members []int
	others := make(map[int][3]int)
	for _, pid := range pids {
		relations, alive := relationsOf(pid)
		switch {
		case !alive || pid == leader:
		case marked(pid, want):
			members = append(members, pid)
			r.kin[pid] = true
		default:
			others[pid] = relations
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, relations := range others {
			if slices.ContainsFunc(relations[:], func(id int) bool { return r.kin[id] }) {
				members, grown = append(members, pid), true
				r.kin[pid] = true
				delete(others, pid)
			}
		}
	}
	return members
}

// fewPids is up to how many process numbers are tried one by one, rather than
// listing /proc.
const fewPids = 1024

// candidates lists the processes that may be younger than leader. Nearly
// always there is none, which one small read tells.
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
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		// Numbers wrap, so a smaller one says nothing when the last is smaller.
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() && (pid > leader || last < leader) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lastPid is the number given to a new process or thread most recently, 0 when
// it cannot be told.
func lastPid() int {
	fields := bytes.Fields(readProc("/proc/loadavg", 128))
	if len(fields) != 5 {
		return 0
	}
	pid, _ := strconv.Atoi(string(fields[4]))
	return pid
}

// relationsOf gives the parent, group and session of a living process.
func relationsOf(pid int) (relations [3]int, alive bool) {
	stat := readProc("/proc/"+strconv.Itoa(pid)+"/stat", 1024)
	// The program's name, in parentheses, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return relations, false
	}
	for i := range relations {
		relations[i], _ = strconv.Atoi(string(fields[i+1]))
	}
	return relations, true
}

// maxEnviron bounds what is read of a process's environment.
const maxEnviron = 4 << 20

func marked(pid int, want []byte) bool {
	env := readProc("/proc/"+strconv.Itoa(pid)+"/environ", maxEnviron)
	return bytes.HasPrefix(env, want) || bytes.Contains(env, append([]byte{0}, want...))
}

// readProc reads a small file without the cost of an os.File. It gives nothing
// where there is nothing to read.
func readProc(path string, limit int) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 4096)
	for len(buf) < limit {
		buf = slices.Grow(buf, 2048)
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if n <= 0 || err != nil {
			break
		}
		buf = buf[:len(buf)+n]
	}
	return buf
}
