package undo

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// plainObject is the first byte of an object, its encoding.
const plainObject = 'p'

// maxSmall is the largest content that goes into the journal, in bytes.
const maxSmall = 32 << 10

// errLost is the error for a missing object, or one that does not match its name.
var errLost = errors.New("the content is no longer kept")

func validHash(hash string) bool {
	if len(hash) != 64 {
		return false
	}
	for _, c := range []byte(hash) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// objectDir opens the directory of the object: one for each first two digits of a hash.
func (v *storeDir) objectDir(hash string, create bool) (*os.Root, error) {
	objects, err := enter(v.dir, "objects", create)
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	return enter(objects, hash[:2], create)
}

// storeObject stores data as the object hash, and returns the bytes added. A small object goes into the line: making a
// file costs more than all else.
func (s *Store) storeObject(v *storeDir, l *line, data []byte) (added int64, err error) {
	if len(data) <= maxSmall {
		l.Data = encode(data)
		return 0, nil
	}
	hash := l.Hash
	dir, err := v.objectDir(hash, true)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	if sound(dir, hash[2:]) {
		return 0, nil
	}
	object := encode(data)
	return int64(len(object)), replaceFile(dir, hash[2:], object)
}

// sound reports whether the object exists and is not empty, as after a power cut.
func sound(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

func encode(data []byte) []byte { return append([]byte{plainObject}, data...) }

func (v *storeDir) has(hash string) bool {
	if v.small[hash] != nil {
		return true
	}
	if !validHash(hash) {
		return false
	}
	dir, err := v.objectDir(hash, false)
	if err != nil {
		return false
	}
	defer dir.Close()
	return sound(dir, hash[2:])
}

// get reads the object of at most workspace.DefaultReadLimit bytes. The error is errLost if it is missing or
// damaged.
func (v *storeDir) get(hash string) ([]byte, error) {
	if small := v.small[hash]; small != nil {
		return verified(bytes.NewReader(small), hash)
	}
	if !validHash(hash) {
		return nil, errLost
	}
	dir, err := v.objectDir(hash, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLost
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.OpenFile(hash[2:], os.O_RDONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLost
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return verified(f, hash)
}

func verified(f io.Reader, hash string) ([]byte, error) {
	data, err := decode(f)
	if err != nil || workspace.Hash(data) != hash {
		return nil, errLost
	}
	return data, nil
}

func decode(f io.Reader) ([]byte, error) {
	var method [1]byte
	if _, err := io.ReadFull(f, method[:]); err != nil {
		return nil, err
	}
	if method[0] != plainObject {
		return nil, errLost
	}
	data, err := io.ReadAll(io.LimitReader(f, workspace.DefaultReadLimit+1))
	if err == nil && len(data) > workspace.DefaultReadLimit {
		err = errLost
	}
	return data, err
}
