//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// startWriting is for systems that can be told to begin with a file.
func startWriting(*os.File) {}

// syncTogether is for systems that can sync several files at once.
func syncTogether([]*os.File) error { return errors.ErrUnsupported }

// beingWritten is for systems that tell whether others have a file open.
func beingWritten(*os.File) (writing, known bool) { return false, false }
