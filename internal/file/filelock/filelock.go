// Package filelock locks open files against other processes. A lock ends at the
// latest with the last handle of the file, so that of a killed process ends too.
package filelock

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrLocked is what [Try] gives while somebody else holds the lock, and ErrNone
// what all give where the file system has no locks.
var (
	ErrLocked = errors.New("locked by another process")
	ErrNone   = errors.New("the file system has no locks")
)

// Await takes the lock of an open file, and waits for it until ctx ends. It asks
// again and again, as a blocking call could not be given up.
func Await(ctx context.Context, f *os.File, exclusive bool) error {
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if err := Try(f, exclusive); !errors.Is(err, ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
