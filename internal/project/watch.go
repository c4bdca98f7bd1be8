package project

import (
	"context"
	"os"
	"time"
)

// WatchInterval is how often files are looked at for changes.
const WatchInterval = 500 * time.Millisecond

// stamp is what tells two states of a file apart.
type stamp struct {
	size     int64
	modified time.Time
}

// watch calls changed, from another goroutine, after any of the files has
// changed, come or gone since this call, until ctx ends. The files are few, so
// they are looked at rather than subscribed to: that works on every file system
// and survives every way of saving.
func watch(ctx context.Context, files func() []string, changed func()) {
	last := stamps(files())
	go func() {
		ticker := time.NewTicker(WatchInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now := stamps(files()); !same(last, now) {
				last = now
				changed()
			}
		}
	}()
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
