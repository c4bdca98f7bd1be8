//go:build !linux

package workspace

import (
	"errors"
	"os"
	"time"
)

// startWriting is for systems that can be told to begin with a file.
func startWriting(*os.File) {}

// syncTogether is for systems that can sync several files at once.
func syncTogether([]*os.File) error { return errors.ErrUnsupported }

// awaitWriters is for systems that tell whether others have a file open.
func awaitWriters(*os.File, time.Duration) {}
