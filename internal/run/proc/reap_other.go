//go:build !linux

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// waitExit waits for the command to end. Here it is reaped at once.
func waitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func (r *run) anyLeft() bool { return false }

// signalLeft reaches only the group: processes cannot be found by their environment here.
func (r *run) signalLeft(syscall.Signal) bool {
	killGroup(r.cmd.Process)
	return false
}

func unread(*os.File) bool { return false }
