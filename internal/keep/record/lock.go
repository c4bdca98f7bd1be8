package record

import (
	"os"

	"github.com/toolhost/toolhost/internal/files/filelock"
	"github.com/toolhost/toolhost/internal/files/plainfile"
)

// lock waits for the lock named by a file of root.
func lock(root *os.Root, name string) (unlock func(), err error) {
	file, err := plainfile.OpenIn(root, name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	release, err := lockHandle(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() {
		release()
		file.Close()
	}, nil
}

// lockHandle waits for the lock of an open file.
func lockHandle(file *os.File) (unlock func(), err error) {
	return func() { filelock.Unlock(file) }, filelock.Wait(file, true)
}
