//go:build !linux

package launch

import "os"

// Refuse says that this is no program to start by hand, and gives the exit
// code.
func Refuse() int {
	_, _ = os.Stderr.WriteString("toolhost-launch is of use on Linux only.\n")
	return 125
}
