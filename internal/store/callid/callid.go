// Package callid names the calls of a workspace: each name is short and given once.
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

// file is the name of the file whose size is how many names were given.
const file = "calls"

// Names gives the names of a workspace's calls. It can be used by several goroutines.
type Names struct {
	path string // of the file; "" for random names

	mu   sync.Mutex
	file *os.File
}

// In returns the names of the workspace whose state lies in dir. They are random where dir is empty or cannot be
// written.
func In(dir string) *Names {
	if dir == "" {
		return new(Names)
	}
	return &Names{path: filepath.Join(dir, file)}
}

// Next returns a name that no call of the workspace has.
func (c *Names) Next() string {
	if n, err := c.count(); err == nil {
		return name(n)
	}
	return "x" + strings.ToLower(rand.Text()[:8])
}

// Close closes the file. A later Next opens it again. No names need no closing.
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

// count adds a byte to the file and returns the position after it. The kernel moves an appending file's offset under
// the lock under which it writes, so that each process gets its own.
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

// The characters of a name, of which the first is a letter, without those that look alike.
const (
	letters    = "abcdefghjkmnpqrstvwxyz"
	characters = "0123456789" + letters
)

// plain is how many names have four characters.
const plain = int64(len(letters) * 32 * 32 * 32)

// name returns the name of the call n. Two that follow each other differ in several characters, so that a slip of
// the finger does not name another call.
func name(n int64) string {
	const step, start = 445513, 577945 // step has no factor in common with plain
	at := (n%plain*step + start) % plain
	text := []byte{letters[at>>15], characters[at>>10&31], characters[at>>5&31], characters[at&31]}
	for n /= plain; n > 0; n /= 32 {
		text = append(text, characters[n&31])
	}
	return string(text)
}
