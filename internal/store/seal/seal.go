// Package seal distinguishes files that toolhost wrote from forged ones. A repository, or a command that runs in
// it, can write any file of a workspace; a seal takes a key of the user's configuration, which confined commands
// cannot read.
package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// keySize is the size of a key, in bytes.
const keySize = sha256.Size

// Key makes and checks seals. It is safe for concurrent use by several processes.
type Key struct {
	path string
	mu   sync.Mutex
	key  []byte // once it was read
}

// Dir is the default directory of the key, in the user's configuration.
func Dir() (string, error) { return userdir.Dir("a key", "") }

// Open returns the key in dir, an absolute path. The first seal makes it. A dir in one of the trees that tools may
// use is refused, because a tool could read the key.
func Open(dir string, trees ...string) (*Key, error) {
	if err := userdir.Outside("a key", dir, trees...); err != nil {
		return nil, err
	}
	return &Key{path: filepath.Join(dir, "seal.key")}, nil
}

// Seal returns the seal of data for a purpose, in hex. It is not valid for another purpose. The error is a
// *tool.Error: the key can be neither read nor made.
func (k *Key) Seal(purpose string, data []byte) (string, error) {
	key, err := k.load(true)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum(key, purpose, data)), nil
}

// Sealed reports whether seal is valid for data and purpose.
func (k *Key) Sealed(purpose string, data []byte, seal string) bool {
	key, err := k.load(false)
	if err != nil {
		return false
	}
	given, err := hex.DecodeString(seal)
	return err == nil && hmac.Equal(given, sum(key, purpose, data))
}

func sum(key []byte, purpose string, data []byte) []byte {
	name := sha256.Sum256([]byte(purpose)) // of one length, so that no purpose runs on into data
	h := hmac.New(sha256.New, key)
	h.Write(name[:])
	h.Write(data)
	return h.Sum(nil)
}

func (k *Key) load(create bool) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	key, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) && create {
		key, err = k.create()
	}
	if err == nil && len(key) != keySize {
		err = errors.New("it is not a key")
	}
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the key %s cannot be used: %w", k.path, err).
			Suggest("Make its directory writable for this user, or remove a damaged key: a new one is made.")
	}
	k.key = key
	return key, nil
}

// create makes the key, or reads the one that another process has made meanwhile: a link, unlike a rename, never
// replaces a file.
func (k *Key) create() ([]byte, error) {
	dir := filepath.Dir(k.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".toolhost-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), k.path)
	}
	if errors.Is(err, fs.ErrExist) {
		return os.ReadFile(k.path)
	}
	return key, err
}
