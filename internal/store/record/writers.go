package record

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/internal/file/filelock"
)

// writer registers this process. Its file is locked while it lives, by which readers distinguish running calls
// from lost ones.
type writer struct {
	mu   sync.Mutex
	id   string
	path string
	file *os.File
}

// name makes the file at the first use. Calls are recorded even without it, as on a full disk.
func (w *writer) name(l *eventLog) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		return w.id
	}
	id := rand.Text()
	if os.MkdirAll(l.path("writers"), 0o700) != nil {
		return ""
	}
	unlocked := l.path("writers", id+".new")
	file, err := os.OpenFile(unlocked, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return ""
	}
	if err = filelock.Wait(file, true); err == nil {
		err = os.Rename(unlocked, l.path("writers", id))
	}
	if err != nil {
		file.Close()
		_ = os.Remove(unlocked)
		return ""
	}
	w.id, w.file, w.path = id, file, l.path("writers", id)
	return id
}

func (w *writer) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := errors.Join(os.Remove(w.path), w.file.Close())
	w.id, w.file = "", nil
	return err
}

// alive reports whether the process of that name still runs.
func (l *eventLog) alive(id string) bool {
	if id == "" || id != filepath.Base(id) {
		return false
	}
	file, err := os.OpenFile(l.path("writers", id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	defer file.Close()
	if filelock.Try(file, true) != nil {
		return true
	}
	_ = os.Remove(file.Name())
	filelock.Unlock(file)
	return false
}
