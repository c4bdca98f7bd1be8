package supervisor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/source/supervisor"
)

func TestRest(t *testing.T) {
	now := time.Now()
	b := supervisor.Breaker{Free: 2, First: time.Second, Longest: 5 * time.Second}
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
