package mcpclient

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// visits are the pages that users have been sent to and that a server may
// report as done.
type visits struct {
	mu      sync.Mutex
	waiting map[string]chan struct{} // by elicitation id
}

// expect gives a channel that is closed when the visit is done.
func (v *visits) expect(id string) (done <-chan struct{}, forget func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.waiting == nil {
		v.waiting = make(map[string]chan struct{})
	}
	c := make(chan struct{})
	v.waiting[id] = c
	return c, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.waiting[id] == c {
			delete(v.waiting, id)
		}
	}
}

// done notes the end of a visit.
func (v *visits) done(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.waiting[id]; ok {
		close(c)
		delete(v.waiting, id)
	}
}

// visited takes a server's word that the user is done with a page.
func (l *link) visited(_ context.Context, request *mcp.ElicitationCompleteNotificationRequest) {
	l.visits.done(request.Params.ElicitationID)
}
