// Package trust remembers which agent.hcl files a user has approved. An
// approval is for a path and the hash of its content, so that a change asks
// again. It is kept in the user's own configuration: what lies in a project
// can be written by whoever wrote the project.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/atomicfile"
	"github.com/toolhost/toolhost/host/tool"
)

// Store is where approvals are kept, one small file each.
type Store struct{ dir string }

// Open names the store in dir, an absolute path. It makes nothing.
func Open(dir string) *Store { return &Store{dir: dir} }

// Dir is where approvals are kept by default: a directory of the user's
// configuration.
func Dir() (string, error) {
	base, err := os.UserConfigDir()
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "approvals cannot be kept: %w", err).
			Suggest("Set HOME, or trust this run alone with --trust.")
	}
	return filepath.Join(base, "toolhost", "trust"), nil
}

// approval is what is stored for a file.
type approval struct {
	Path   string    `json:"path"`
	SHA256 string    `json:"sha256"`
	Time   time.Time `json:"time"`
}

// Status is what the store knows of a file.
type Status string

// The states of a file.
const (
	Unknown  Status = "unknown"  // never approved
	Changed  Status = "changed"  // approved with another content
	Approved Status = "approved" // approved as it is
)

// Status tells whether the file at path, an absolute path, is approved with
// the content of the given hash, in hex. What cannot be read is not approved.
func (s *Store) Status(path, sha256 string) Status {
	data, err := os.ReadFile(s.file(path))
	if err != nil {
		return Unknown
	}
	var a approval
	if json.Unmarshal(data, &a) != nil || a.Path != path {
		return Unknown
	}
	if sha256 == "" || a.SHA256 != sha256 {
		return Changed
	}
	return Approved
}

// Approve stores the approval of a file with the content of the given hash.
func (s *Store) Approve(path, sha256 string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return failed(err)
	}
	if err := atomicfile.Write(s.file(path), tool.MustMarshal(approval{path, sha256, time.Now().UTC()}), 0o600); err != nil {
		return failed(err)
	}
	return nil
}

// Revoke forgets the approval of a file; a missing one is no error.
func (s *Store) Revoke(path string) error {
	if err := os.Remove(s.file(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	return nil
}

func failed(err error) *tool.Error {
	return tool.Errorf(tool.Unavailable, "the approval cannot be stored: %w", err).
		Suggest("Make the directory writable, or trust this run alone with --trust.")
}

// file is where the approval of a path is kept.
func (s *Store) file(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+".json")
}
