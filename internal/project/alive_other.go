//go:build !unix

package project

import "os"

// running reports whether there is a process of that id.
func running(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = process.Release()
	return true
}
