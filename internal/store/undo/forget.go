package undo

import (
	"context"
	"errors"
	"io/fs"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// forgotten is why a content is no longer kept.
const forgotten = "it held a value that toolhost forget took out"

// Forget drops each content that contains a value, and returns the journal's paths whose content is lost.
func (s *Store) Forget(ctx context.Context, value string) (lost []string, err error) {
	redactor := redact.New([]string{value})
	v, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) || redactor == nil || s.why != nil {
		return nil, nil
	}
	if err != nil {
		return nil, s.storeError("forget", "", err)
	}
	defer v.close()
	unlock, locked, err := v.lock(ctx, contentLock, true, lockWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !locked {
		return nil, tool.Errorf(tool.Unavailable, "the file system of %s has no locks, so undo was not rewritten", s.dir).
			Suggest("End all toolhost processes and remove the directory: nothing can be undone then.")
	}
	lost, err = s.forget(ctx, v, redactor)
	return lost, s.storeError("forget", "", err)
}

func (s *Store) forget(ctx context.Context, v *storeDir, redactor *redact.Redactor) (lost []string, err error) {
	lines, err := v.journal(ctx)
	if err != nil {
		return nil, err
	}
	held := make(map[string]bool) // by hash, whether the content contains the value
	rewrite := make(map[string]bool)
	kept := func(l *line) bool { return l.keepsContent() && l.Lost == "" }
	for _, l := range lines {
		if !kept(l) {
			continue
		}
		holds, known := held[l.Hash]
		if !known {
			content, err := v.get(l.Hash)
			holds = err != nil || redactor.String(string(content)) != string(content)
			held[l.Hash] = holds
		}
		if holds {
			rewrite[journalName(l.Session)] = true
			lost = append(lost, string(l.Path))
		}
	}
	if len(rewrite) == 0 {
		return nil, nil
	}
	dir, err := enter(v.dir, "journal", false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for name := range rewrite {
		err = errors.Join(err, rewriteJournal(ctx, dir, name, func(l *line) bool {
			if kept(l) && held[l.Hash] {
				l.Data, l.Lost = nil, forgotten
			}
			return true
		}))
	}
	for hash, holds := range held {
		if holds && validHash(hash) {
			err = errors.Join(err, v.drop(hash))
		}
	}
	return lost, err
}

func (v *storeDir) drop(hash string) error {
	dir, err := v.objectDir(hash, false)
	if err == nil {
		defer dir.Close()
		err = dir.Remove(hash[2:])
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
