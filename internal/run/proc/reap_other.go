//go:build !linux

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// waitExit waits for the command to end. Here it is reaped at once.
func waitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// anyLeft cannot tell here.
func (r *run) anyLeft() bool { return false }

// signalLeft reaches the group alone: there is no way to find processes by
// their environment here.
func (r *run) signalLeft(syscall.Signal) bool {
	killGroup(r.cmd.Process)
	return false
}

// unread is not known there.
func unread(*os.File) bool { return false }
