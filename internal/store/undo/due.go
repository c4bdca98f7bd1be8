package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/file/filelock"
)

// prunedFile is a file whose time is that of the last pruning.
const prunedFile = "pruned"

// PruneIfDue prunes if the last time was longer ago than every, or never. Otherwise it costs one stat, which a
// short-lived program can afford. ran is false if nothing was due, nothing is kept, or others are writing.
// Errors are those of Prune.
func (s *Store) PruneIfDue(ctx context.Context, every time.Duration) (ran bool, err error) {
	if s.why != nil {
		return false, nil
	}
	info, err := os.Lstat(filepath.Join(s.Dir(), prunedFile))
	if err == nil && info.Mode().IsRegular() && s.options.Now().Sub(info.ModTime()) < every {
		return false, nil
	}
	v, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, s.storeError("prune", "", err)
	}
	defer v.close()
	if _, err := s.prune(ctx, v, pruneWait); err != nil {
		if errors.Is(err, filelock.ErrLocked) {
			return false, nil
		}
		return false, s.storeError("prune", "", err)
	}
	f, err := v.dir.OpenFile(prunedFile, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		now := s.options.Now()
		err = errors.Join(f.Close(), v.dir.Chtimes(prunedFile, now, now))
	}
	return true, s.storeError("prune", "", err)
}
