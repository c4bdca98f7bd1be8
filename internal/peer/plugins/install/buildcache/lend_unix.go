//go:build unix

package buildcache

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/cache"
	"golang.org/x/sys/unix"
)

// Lend answers what is asked through dir, which the confined build may change,
// from the cache in users, until done is called.
func Lend(users, dir string) (done func(), err error) {
	own, err := cache.Open(users)
	if err != nil {
		return nil, err
	}
	for _, name := range pipes {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil && !os.IsExist(err) {
			return nil, err
		}
	}
	asks, answers, err := openPipes(dir)
	if err != nil {
		return nil, err
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		var id cache.ActionID
		for {
			if _, err := io.ReadFull(asks, id[:]); err != nil {
				return
			}
			if _, err := answers.Write(answer(own, id)); err != nil {
				return
			}
		}
	}()
	return func() {
		asks.Close()
		answers.Close()
		<-finished
	}, nil
}

// answer is the id, the number of bytes, and the bytes.
func answer(own *cache.Cache, id cache.ActionID) []byte {
	head := binary.BigEndian.AppendUint64(id[:], nothing)
	if entry, err := own.Get(id); err != nil || entry.Size > maxEntry {
		return head
	}
	data, _, err := own.GetBytes(id)
	if err != nil || len(data) > maxEntry {
		return head
	}
	binary.BigEndian.PutUint64(head[len(id):], uint64(len(data)))
	return append(head, data...)
}

// openPipes opens both for reading and writing: so neither end waits for the
// other, and none sees an end when the other is replaced.
func openPipes(dir string) (asks, answers *os.File, err error) {
	var files [len(pipes)]*os.File
	for i, name := range pipes {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return nil, nil, err
		}
		files[i] = os.NewFile(uintptr(fd), name)
	}
	return files[0], files[1], nil
}
