package sdk

import (
	"os"
	"syscall"
)

// endGroup ends the process and, if it leads a process group, the group.
func endGroup() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
	os.Exit(1)
}
