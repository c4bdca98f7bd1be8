// Package callid names the calls of a workspace with short, unique names.
package callid

import (
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const file = "calls"

// Names makes the names of a workspace's calls. It is safe for concurrent use.
type Names struct {
	path string // "" for random names

	mu   sync.Mutex
	file *os.File
}

// In returns the names of the workspace with the state directory dir; random ones if dir is empty or cannot be
// written.
func In(dir string) *Names {
	if dir == "" {
		return new(Names)
	}
	return &Names{path: filepath.Join(dir, file)}
}

// Next returns a new unique name.
func (c *Names) Next() string {
	if n, err := c.count(); err == nil {
		return name(n)
	}
	return "x" + strings.ToLower(rand.Text()[:8])
}

// Close closes the file; a later Next opens it again.
func (c *Names) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	return err
}

// count appends a byte to the file and returns the position after it. The kernel moves an appending file's
// offset under the same lock as it writes, so each process gets its own.
func (c *Names) count() (int64, error) {
	if c.path == "" {
		return 0, fs.ErrNotExist
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return 0, err
		}
		c.file = f
	}
	if _, err := c.file.Write([]byte{'.'}); err != nil {
		return 0, err
	}
	return c.file.Seek(0, io.SeekCurrent)
}

// The characters of a name, without similar ones; the first is a letter.
const (
	letters    = "abcdefghjkmnpqrstvwxyz"
	characters = "0123456789" + letters
)

// plain is how many names have four characters.
const plain = int64(len(letters) * 32 * 32 * 32)

// name returns the name of the call n. Consecutive ones differ in several characters, against typos.
func name(n int64) string {
	const step, start = 445513, 577945 // step has no factor in common with plain
	at := (n%plain*step + start) % plain
	text := []byte{letters[at>>15], characters[at>>10&31], characters[at>>5&31], characters[at&31]}
	for n /= plain; n > 0; n /= 32 {
		text = append(text, characters[n&31])
	}
	return string(text)
}
