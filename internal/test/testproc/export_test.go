package testproc

import (
	"testing"
	"time"
)

// Describe is describe of a process.
func Describe(pid int) string { return describe(Process{pid, commandLine(pid)}) }

// ReceiveWithin is Receive with less patience.
func ReceiveWithin[T any](t testing.TB, while time.Duration, channel <-chan T) T {
	return receiveWithin(t, while, channel)
}
