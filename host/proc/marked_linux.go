package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent has the kernel end the process when the host dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// killMarked ends every process that carries mark in its environment and has
// a pid above from. It looks again until none is left, because a process may
// fork while it is looked for; the bound keeps a fork bomb from holding the
// call for ever.
func killMarked(mark string, from int) {
	want := append([]byte(mark), 0)
	for range 50 {
		if !killOnce(want, from) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func killOnce(want []byte, from int) (found bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= from || pid == os.Getpid() || !marked(name, want) {
			continue
		}
		found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
	}
	return found
}

func marked(pid string, want []byte) bool {
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && (bytes.HasPrefix(env, want) || bytes.Contains(env, append([]byte{0}, want...)))
}
