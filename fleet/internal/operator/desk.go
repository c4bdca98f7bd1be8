package operator

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// Desk caches the workers' waiting calls for repeated looks. It asks the workers while it is used.
type Desk struct {
	*Operator
	mu    sync.Mutex
	lists map[fleet.Worker]*list
}

type list struct {
	asking  bool
	asked   time.Time // when last asked
	decided time.Time // last decision about it: answers from before no longer count
	waiting []fleet.Waiting
	problem string
}

const (
	askEvery   = time.Second
	mostListed = 500
)

var idOf = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// NewDesk returns the desk of an operator.
func NewDesk(o *Operator) *Desk { return &Desk{Operator: o, lists: make(map[fleet.Worker]*list)} }

// Now returns the known waiting calls, oldest first, and why others are unknown. It does not wait.
func (d *Desk) Now() (all []fleet.Waiting, problems []string) {
	if !d.nc.IsConnected() {
		return nil, []string{"The hub of the fleet cannot be reached: what waits there is not shown."}
	}
	workers := d.heardOf()
	if len(workers) == 0 {
		return nil, []string{"No worker of the fleet is heard."}
	}
	slices.Sort(workers)
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range d.lists {
		if !slices.Contains(workers, w) {
			delete(d.lists, w)
		}
	}
	for _, w := range workers {
		l := d.lists[w]
		if l == nil {
			l = new(list)
			d.lists[w] = l
		}
		if !l.asking && time.Since(l.asked) >= askEvery {
			l.asking, l.asked = true, time.Now()
			go d.renew(w, l)
		}
		all = append(all, l.waiting...)
		if l.problem != "" {
			problems = append(problems, l.problem)
		}
	}
	slices.SortStableFunc(all, func(a, b fleet.Waiting) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.Worker, b.Worker))
	})
	return all, problems
}

func (d *Desk) renew(w fleet.Worker, l *list) {
	began := time.Now()
	answer, err := d.ask(context.Background(), w, fleet.Decide{Action: fleet.DecideList}, listWithin)
	d.mu.Lock()
	defer d.mu.Unlock()
	l.asking = false
	if !l.decided.IsZero() && !began.After(l.decided) {
		l.asked = time.Time{}
		return
	}
	l.waiting, l.problem = nil, problemOf(w, answer, err)
	if err != nil {
		return
	}
	seen := make(map[string]bool)
	for _, one := range answer.Waiting {
		if seen[one.ID] || !idOf.MatchString(one.ID) {
			continue
		}
		seen[one.ID] = true
		one.Worker = w
		l.waiting = append(l.waiting, one)
		if len(l.waiting) == mostListed {
			break
		}
	}
}

// Approve is Operator.Approve; it also removes the call from the desk.
func (d *Desk) Approve(ctx context.Context, look *fleet.Look) error {
	err := d.Operator.Approve(ctx, look)
	d.markDecided(look.Waiting, err)
	return err
}

// Deny is Operator.Deny; it also removes the call from the desk.
func (d *Desk) Deny(ctx context.Context, call fleet.Waiting, reason string) error {
	err := d.Operator.Deny(ctx, call, reason)
	d.markDecided(call, err)
	return err
}

// markDecided asks the worker again after a decision on, or a change of, its call.
func (d *Desk) markDecided(call fleet.Waiting, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lists[call.Worker]
	if l == nil {
		return
	}
	l.asked, l.decided = time.Time{}, time.Now()
	if err == nil {
		l.waiting = slices.DeleteFunc(slices.Clone(l.waiting), func(w fleet.Waiting) bool { return w.ID == call.ID })
	}
}
