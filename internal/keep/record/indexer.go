package record

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// indexEvery is how many entries a process writes before it brings the index up
// to date, so that who reads next does not wait for all of them. It does so
// when it has written nothing for a while: while calls go on, they would wait
// for it, as they do after indexMost entries.
const (
	indexEvery = 1000
	indexAfter = time.Second
)

// indexMost is how many anybody adds at one time at most: others wait for that.
const indexMost = 20_000

// indexer brings the index up to date between calls. The ledger's mutex guards
// it.
type indexer struct {
	entries int // since the last time
	busy    atomic.Bool
	running sync.WaitGroup
	cancel  context.CancelFunc
	quiet   *time.Timer
}

// written counts an entry.
func (x *indexer) written(l *ledger) {
	x.entries++
	switch {
	case x.entries < indexEvery:
	case x.entries >= indexMost:
		x.start(l)
	case x.quiet != nil:
		x.quiet.Reset(indexAfter)
	default:
		x.quiet = time.AfterFunc(indexAfter, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.lock != nil { // it was not closed meanwhile
				x.start(l)
			}
		})
	}
}

func (x *indexer) start(l *ledger) {
	if x.busy.Swap(true) {
		return
	}
	x.entries = 0
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	x.running.Go(func() {
		defer x.busy.Store(false)
		defer cancel()
		db, err := l.openIndex(ctx, l.path(indexFile))
		if err != nil {
			return // who reads says so, or makes it anew
		}
		defer db.Close()
		_, _ = l.update(ctx, db)
	})
}

// stop ends what runs. What was not indexed is when somebody reads.
func (x *indexer) stop() {
	if x.quiet != nil {
		x.quiet.Stop()
	}
	if x.cancel != nil {
		x.cancel()
	}
	x.running.Wait()
}
