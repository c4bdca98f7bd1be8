//go:build !linux

package plugins

import "syscall"

// tieToHost does nothing: the lifeline ends when the host dies.
func tieToHost(*syscall.SysProcAttr) {}

// awaitExit returns false: the caller must wait.
func (g *processGroup) awaitExit() bool { return false }
