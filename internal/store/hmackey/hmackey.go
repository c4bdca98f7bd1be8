// Package hmackey distinguishes files that toolhost wrote from forged ones. A command can write any file of a
// workspace, but a hmackey takes a key of the user's configuration, which confined commands cannot read.
package hmackey

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

const keySize = sha256.Size

// Key signs and verifies data by HMAC. It is safe for concurrent use by several processes.
type Key struct {
	path string
	mu   sync.Mutex
	key  []byte // once read
}

// Dir returns the default directory of the key, in the user's configuration.
func Dir() (string, error) { return userdir.Dir("a key", "") }

// Open returns the key in dir, an absolute path. The first seal makes it. A dir in one of the trees of tools is
// refused, because a tool could read the key.
func Open(dir string, trees ...string) (*Key, error) {
	if err := userdir.Outside("a key", dir, trees...); err != nil {
		return nil, err
	}
	return &Key{path: filepath.Join(dir, "seal.key")}, nil
}

// Sign returns the seal of data for one purpose, in hex. The error is a *tool.Error if the key can be neither
// read nor made.
func (k *Key) Sign(purpose string, data []byte) (string, error) {
	key, err := k.load(true)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum(key, purpose, data)), nil
}

// Verify reports whether mac is valid for data and purpose.
func (k *Key) Verify(purpose string, data []byte, mac string) bool {
	key, err := k.load(false)
	if err != nil {
		return false
	}
	given, err := hex.DecodeString(mac)
	return err == nil && hmac.Equal(given, sum(key, purpose, data))
}

func sum(key []byte, purpose string, data []byte) []byte {
	name := sha256.Sum256([]byte(purpose)) // of fixed length, so that no purpose runs on into data
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

// create makes the key, or reads the one that another process made meanwhile: a link, unlike a rename, never
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
