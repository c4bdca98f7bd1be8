package undo

import (
	"context"
	"errors"
	"os"

	"github.com/toolhost/toolhost/internal/file/filelock"
)

// journalWriter adds many lines to the journal of one session, which stays open. It locks each line separately,
// so that pruning can come in between.
type journalWriter struct {
	store    *Store
	session  string
	storeDir *storeDir
	journal  *os.File
	locked   *os.File // the file of contentLock
	replaced bool     // the journal, by another one, since this was made
}

func (s *Store) openWriter(session string) (*journalWriter, error) {
	p := &journalWriter{store: s, session: session}
	if err := p.open(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *journalWriter) open() (err error) {
	if p.storeDir, err = p.store.open(true); err != nil {
		return err
	}
	if p.locked, err = p.storeDir.dir.OpenFile(contentLock, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		p.journal, err = p.storeDir.openJournal(p.session)
	}
	if err != nil {
		p.close()
	}
	return err
}

// lock takes the lock for a line. If pruning has replaced the journal or a person has removed the store, it
// opens the present one.
func (p *journalWriter) lock(ctx context.Context) error {
	for tries := 0; ; tries++ {
		if p.storeDir == nil {
			if err := p.open(); err != nil {
				return err
			}
		}
		if _, err := await(ctx, p.locked, false, lockWait); err != nil {
			return err
		}
		if !gone(p.journal) {
			return nil
		}
		p.replaced = true
		p.close() // unlocks, too
		if tries == mostReopened {
			return errors.New("the undo store goes away again and again")
		}
	}
}

// mostReopened bounds how often a line reopens the journal.
const mostReopened = 100

func (p *journalWriter) unlock() { filelock.Unlock(p.locked) }

func (p *journalWriter) close() {
	for _, f := range []*os.File{p.journal, p.locked} {
		if f != nil {
			f.Close()
		}
	}
	if p.storeDir != nil {
		p.storeDir.close()
	}
	p.storeDir, p.journal, p.locked = nil, nil, nil
}
