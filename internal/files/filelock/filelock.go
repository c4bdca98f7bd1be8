// Package filelock locks open files against other processes. A lock ends at the
// latest with the last handle of the file, so that of a killed process ends too.
package filelock

import "errors"

// ErrLocked is what [Try] gives while somebody else holds the lock, and ErrNone
// what both give where the file system has no locks.
var (
	ErrLocked = errors.New("locked by another process")
	ErrNone   = errors.New("the file system has no locks")
)
