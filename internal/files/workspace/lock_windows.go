package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/files/filelock"
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
	if err := filelock.Try(f, true); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
