package project

import (
	"context"
	"os"
	"sync"
	"time"
)

// WatchInterval is how often files are checked for changes.
const WatchInterval = 500 * time.Millisecond

type stamp struct {
	size     int64
	modified time.Time
}

// poller polls files for changes: they are few, and that works on every file system and for every way of saving.
type poller struct {
	files   func() []string
	changed func()

	mu   sync.Mutex
	last map[string]stamp
}

func newPoller(files func() []string, changed func()) *poller {
	return &poller{files: files, changed: changed, last: stamps(files())}
}

// check calls changed if a file has changed since the last time.
func (l *poller) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := stamps(l.files()); !same(l.last, now) {
		l.last = now
		l.changed()
	}
}

// every calls again every WatchInterval until ctx ends.
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
