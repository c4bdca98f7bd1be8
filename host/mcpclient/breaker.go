package mcpclient

import "time"

// A server that failed is tried again by the next call at once. After further
// failures in a row calls are refused for a while, which doubles from
// firstRest to longestRest: a broken server costs nothing but its own calls.
const (
	freeFailures = 2
	firstRest    = 500 * time.Millisecond
	longestRest  = time.Minute
)

// breaker counts failures in a row.
type breaker struct {
	failures int
	last     time.Time
}

func (b *breaker) fail(now time.Time) { b.failures++; b.last = now }

func (b *breaker) reset() { b.failures = 0 }

// rest is how long it is until the next attempt is allowed.
func (b *breaker) rest(now time.Time) time.Duration {
	if b.failures <= freeFailures {
		return 0
	}
	rest := longestRest
	if shift := b.failures - freeFailures - 1; shift < 7 {
		rest = min(longestRest, firstRest<<shift)
	}
	return max(0, b.last.Add(rest).Sub(now))
}
