package host

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// counted is a view that counts how often it was closed.
type counted struct {
	View
	closed int
}

func (v *counted) Close(context.Context) { v.closed++ }

// An unanswered view is closed when it has expired and the next call waits.
func TestReviewsThatExpire(t *testing.T) {
	var r reviews
	views := map[string]*counted{"expired": {}, "waits": {}, "again": {}, "last": {}}
	for _, name := range []string{"expired", "waits", "again"} {
		r.addCall(t.Context(), name, &reviewed{view: views[name]})
	}
	r.waiting["expired"].expires = time.Now().Add(-time.Second)
	r.addCall(t.Context(), "again", &reviewed{view: views["last"]})
	closed := map[string]int{}
	for name, view := range views {
		closed[name] = view.closed
	}
	assert.Equal(t, map[string]int{"expired": 1, "waits": 0, "again": 1, "last": 0}, closed)
	assert.Nil(t, r.popCall(t.Context(), "expired"))
	assert.NotNil(t, r.popCall(t.Context(), "waits"))
}
