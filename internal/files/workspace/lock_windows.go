package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock that processes share: a file in the user's directory
// for temporary files, named after the directory, since Windows cannot lock a
// directory itself.
func tryLock(_ *os.Root, abs string) (unlock func(), err error) {
	sum := sha256.Sum256([]byte(strings.ToLower(abs)))
	name := filepath.Join(os.TempDir(), "toolhost-"+hex.EncodeToString(sum[:12])+".lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return nil, errLocked
	}
	return nil, err
}
