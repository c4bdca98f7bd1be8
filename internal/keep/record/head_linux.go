package record

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openHead opens the head without a time of its last reading, which would be written
// for each entry: that costs as much as the entry.
func openHead(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOATIME, 0o600)
	if errors.Is(err, os.ErrPermission) { // another user's
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	return file, err
}
