//go:build unix && !linux

package background

import (
	"context"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mkfifoat makes a pipe by its path: not every system can make one below an
// open directory.
func mkfifoat(_ int, dir, name string) error { return unix.Mkfifo(filepath.Join(dir, name), 0o600) }

// Only Linux gives orphans to another process than the first; elsewhere what
// package proc ends has to do.

func becomeReaper() {}

func reapOrphans(context.Context, int) {}

func killDescendants() {}
