package proc

import (
	"context"

	"github.com/toolhost/toolhost/host/tool"
)

// Limit bounds how many commands run at the same time. A nil Limit is none.
type Limit struct{ slots chan struct{} }

// NewLimit makes a Limit of n commands, at least one.
func NewLimit(n int) *Limit { return &Limit{slots: make(chan struct{}, max(1, n))} }

// acquire waits for a free slot and gives the function that frees it again.
func (l *Limit) acquire(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, tool.Errorf(tool.Unavailable, "%d commands run already, and none ended in time", cap(l.slots)).
			Suggest("Wait for a running command to end, or stop one.")
	}
}
