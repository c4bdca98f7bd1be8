//go:build !linux

package sandbox

import (
	"io/fs"
	"time"
)

// changedAt is when a directory was changed last.
func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
