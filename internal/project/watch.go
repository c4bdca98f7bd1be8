package project

import (
	"context"
	"os"
	"sync"
	"time"
)

// WatchInterval is how often files are looked at for changes.
const WatchInterval = 500 * time.Millisecond

// stamp is what tells two states of a file apart.
type stamp struct {
	size     int64
	modified time.Time
}

// look looks at files for changes. The files are few, so they are looked at
// rather than subscribed to: that works on every file system and survives every
// way of saving.
type look struct {
	files   func() []string
	changed func()

	mu   sync.Mutex
	last map[string]stamp
}

func newLook(files func() []string, changed func()) *look {
	return &look{files: files, changed: changed, last: stamps(files())}
}

// again calls changed where any of the files has changed, come or gone since
// the time before.
func (l *look) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := stamps(l.files()); !same(l.last, now) {
		l.last = now
		l.changed()
	}
}

// every calls again once in every WatchInterval until ctx ends.
func every(ctx context.Context, again func()) {
	ticker := time.NewTicker(WatchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			again()
		}
	}
}

func stamps(files []string) map[string]stamp {
	all := make(map[string]stamp, len(files))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			all[file] = stamp{info.Size(), info.ModTime()}
		}
	}
	return all
}

func same(a, b map[string]stamp) bool {
	if len(a) != len(b) {
		return false
	}
	for file, s := range a {
		if other, ok := b[file]; !ok || other.size != s.size || !other.modified.Equal(s.modified) {
			return false
		}
	}
	return true
}
