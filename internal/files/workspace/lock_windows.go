package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// lockFile is what is locked: a file in the user's directory for temporary
// files, named after the directory, since Windows cannot lock a directory itself.
func lockFile(_ *os.Root, abs string) (*os.File, error) {
	sum := sha256.Sum256([]byte(strings.ToLower(abs)))
	name := filepath.Join(os.TempDir(), "toolhost-"+hex.EncodeToString(sum[:12])+".lock")
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}

func lockFailure(err error) error { return err }
