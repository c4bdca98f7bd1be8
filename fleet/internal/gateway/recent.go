package gateway

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// Limits of remembered sessions, each at most doubled. Records are kept less than a lease,
// after which another gateway may take a worker for lost.
const (
	recentFor  = fleet.Lease / 4
	mostRecent = 10000
)

// recent are records of sessions that were just read. They are not changed.
type recent struct {
	mu             sync.Mutex
	fresh, earlier map[string]*fleet.Record
	turned         time.Time
}

func (r *recent) turn() {
	age := time.Since(r.turned)
	if age < recentFor && len(r.fresh) < mostRecent {
		return
	}
	r.earlier = r.fresh
	if age >= 2*recentFor {
		r.earlier = nil
	}
	r.fresh, r.turned = make(map[string]*fleet.Record), time.Now()
}

func (r *recent) get(key string) *fleet.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	if record := r.fresh[key]; record != nil {
		return record
	}
	return r.earlier[key]
}

func (r *recent) remember(key string, record *fleet.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	r.fresh[key] = record
}

func (r *recent) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.fresh, key)
	delete(r.earlier, key)
}
