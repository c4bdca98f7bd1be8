//go:build !linux

package plugins

import "syscall"

// tieToHost does nothing here; the lifeline tells the process that the host
// died.
func tieToHost(*syscall.SysProcAttr) {}

// awaitExit leaves the waiting to the caller.
func (g *processGroup) awaitExit() bool { return false }
