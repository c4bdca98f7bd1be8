package testfile

import (
	"io/fs"
	"os"
	"syscall"
)

// WriteWhole writes a file that may be a program, in place of what it held. The lock
// keeps what other tests start meanwhile from inheriting the open file: a program that
// somebody has open for writing cannot run.
func WriteWhole(path string, data []byte, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, mode)
}
