package fleet

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
)

// A step whose answer is lost is repeated; any other answer is final.
func TestRetry(t *testing.T) {
	other := errors.New("other")
	for name, c := range map[string]struct {
		answers []error
		want    error
		steps   int
	}{
		"at once":       {[]error{nil}, nil, 1},
		"lost once":     {[]error{context.DeadlineExceeded, nil}, nil, 2},
		"lost twice":    {[]error{nats.ErrTimeout, nats.ErrNoResponders, nil}, nil, 3},
		"no leader":     {[]error{jetstream.ErrNoStreamResponse, nil}, nil, 2},
		"another error": {[]error{other, nil}, other, 1},
		"a conflict":    {[]error{nats.ErrTimeout, jetstream.ErrKeyExists}, jetstream.ErrKeyExists, 2},
	} {
		t.Run(name, func(t *testing.T) {
			steps := 0
			err := Retry(t.Context(), func(ctx context.Context) error {
				_, limited := ctx.Deadline()
				assert.True(t, limited)
				steps++
				return c.answers[steps-1]
			})
			assert.ErrorIs(t, err, c.want)
			assert.Equal(t, c.steps, steps)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	assert.ErrorIs(t, Retry(ctx, func(context.Context) error { cancel(); return nats.ErrTimeout }), nats.ErrTimeout)
}
