package backoff_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/peer/backoff"
)

func TestRest(t *testing.T) {
	now := time.Now()
	b := backoff.Breaker{Free: 2, First: time.Second, Longest: 5 * time.Second}
	for _, want := range []time.Duration{0, 0, 1, 2, 4, 5, 5} {
		b.Fail(now)
		assert.Equal(t, want*time.Second, b.Rest(now), "after %d failures", b.Failures())
	}
	assert.Equal(t, 2*time.Second, b.Rest(now.Add(3*time.Second)))
	assert.Zero(t, b.Rest(now.Add(time.Minute)))
	b.Reset()
	assert.Zero(t, b.Failures())
	assert.Zero(t, b.Rest(now))
	for range 1000 {
		b.Fail(now)
	}
	assert.Equal(t, 5*time.Second, b.Rest(now), "the doubling does not overflow")
}

func TestRecall(t *testing.T) {
	now := time.Now()
	b := backoff.Breaker{First: time.Second, Longest: 10 * time.Second}
	b.Recall(2, now, 3*time.Second)
	assert.Equal(t, 3*time.Second, b.Rest(now), "the least rest")
	b.Fail(now)
	assert.Equal(t, 4*time.Second, b.Rest(now), "the doubling, which is longer by now")
	b.Recall(1, now, time.Minute)
	assert.Equal(t, 10*time.Second, b.Rest(now), "the longest rest bounds the least")
	b.Reset()
	b.Fail(now)
	assert.Equal(t, time.Second, b.Rest(now), "a success makes the least rest forgotten")
}

type attempt chan struct{}

func (a attempt) Ready() <-chan struct{} { return a }

func TestAwait(t *testing.T) {
	under, ready := make(attempt), make(attempt)
	close(ready)
	refused := errors.New("refused")
	cases := []struct {
		name   string
		answer attempt
		rest   time.Duration // asked for once
		err    error
		ends   bool // the context
		want   error
	}{
		{name: "ready", answer: ready},
		{name: "ready after a rest", answer: ready, rest: time.Millisecond},
		{name: "refused", err: refused, want: refused},
		{name: "the context ends during the start", answer: under, ends: true, want: context.Canceled},
		{name: "the context ends during the rest", rest: time.Hour, ends: true, want: context.Canceled},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			asked := 0
			got, err := backoff.Await(ctx, func() (attempt, time.Duration, error) {
				if c.ends {
					cancel()
				}
				if asked++; asked == 1 && c.rest > 0 {
					return nil, c.rest, nil
				}
				return c.answer, 0, c.err
			})
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				assert.Equal(t, c.answer, got)
			}
		})
	}
}
