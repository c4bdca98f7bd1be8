// Package trust stores the text of each agent.hcl that a user approved. An approval is for a path, the
// file's content, and where the paths in it lead. It is in the user's configuration, out of reach of
// the project's writers.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Store stores approvals, in one small file each.
type Store struct{ dir string }

// Open returns the store in dir, an absolute path, without making it.
func Open(dir string) *Store { return &Store{dir: dir} }

// Dir returns the default directory of approvals, in the user's configuration.
func Dir() (string, error) { return userdir.Dir("approvals", "trust") }

// Approval is what a user has approved.
type Approval struct {
	// Path is the file's absolute path, and Content its text.
	Path    string `json:"path"`
	Content []byte `json:"content"`
	// Leads maps the file's paths to where symlinks in them led.
	Leads map[string]string `json:"leads,omitempty"`
	// Files maps files that blocks with a grant run to their hex SHA-256 hashes, "" if missing.
	Files map[string]string `json:"files,omitempty"`
	Time  time.Time         `json:"time"`
}

// For returns an approval of a file.
func For(path string, content []byte, leads map[string]string) Approval {
	return Approval{Path: path, Content: content, Leads: leads}
}

// Holds reports whether the approval is for a content with the given hex hash, and those leads.
func (a Approval) Holds(sum string, leads map[string]string) bool {
	own := sha256.Sum256(a.Content)
	return a.Content != nil && sum == hex.EncodeToString(own[:]) && maps.Equal(a.Leads, leads)
}

// Get returns the approval of the file at an absolute path, whatever its content now. An unreadable or
// empty one does not count.
func (s *Store) Get(path string) (a Approval, ok bool) {
	data, err := os.ReadFile(s.File(path))
	stored := string([]rune(path)) // each byte that is not UTF-8 is replaced, as in JSON; the file's name has the exact path
	if err != nil || json.Unmarshal(data, &a) != nil || a.Path != stored || a.Content == nil {
		return Approval{}, false
	}
	a.Path = path
	return a, true
}

// Approve stores an approval, with the current time.
func (s *Store) Approve(a Approval) error {
	for _, paths := range []map[string]string{a.Leads, a.Files} {
		for from, to := range paths {
			if !utf8.ValidString(from + to) { // JSON would name another
				return tool.Errorf(tool.Unsupported, "the approval cannot be stored: agent.hcl grants what lies at %q, which is not UTF-8", from).
					Suggest("Rename the directory.")
			}
		}
	}
	a.Time = time.Now().UTC()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return failed(err)
	}
	if err := atomicfile.Write(s.File(a.Path), tool.MustMarshal(a), 0o600); err != nil {
		return failed(err)
	}
	return nil
}

// Revoke removes a file's approval; a missing one is no error.
func (s *Store) Revoke(path string) error {
	if err := os.Remove(s.File(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	return nil
}

func failed(err error) *tool.Error {
	return tool.Errorf(tool.Unavailable, "the approval cannot be stored: %w", err).
		Suggest("Make the directory writable, or use --trust, which stores nothing.")
}

// File returns the path of a file's approval, which need not exist.
func (s *Store) File(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+".json")
}
