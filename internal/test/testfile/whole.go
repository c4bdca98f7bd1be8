package testfile

import (
	"io/fs"
	"os"
	"syscall"
)

// WriteWhole writes a file that may be a program, replacing its content. The lock
// prevents programs that other tests start from inheriting the open file: a program
// that is open for writing cannot run.
func WriteWhole(path string, data []byte, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, mode)
}
