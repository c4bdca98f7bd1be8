package gateway

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// Bounds of remembered sessions, each at most doubled. They are younger than a lease, the silence
// after which another gateway takes a worker for lost.
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

// get returns the record of a session, nil if unknown.
func (r *recent) get(key string) *fleet.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	if record := r.fresh[key]; record != nil {
		return record
	}
	return r.earlier[key]
}

// remember remembers a record.
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
