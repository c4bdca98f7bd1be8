package life

import "time"

// Breaker counts failures in a row, and after some asks for a rest before the
// next attempt, so that what is broken costs nothing but its own calls. It is
// a circuit breaker without a state of its own for the attempt that follows.
// Its methods are not safe for use by several goroutines.
type Breaker struct {
	// Free is how many failures in a row are forgiven.
	Free int
	// First is the rest after the first failure that is not. Every further one
	// doubles it, up to Longest.
	First, Longest time.Duration

	failures int
	last     time.Time
}

// Fail notes that an attempt failed now.
func (b *Breaker) Fail(now time.Time) { b.failures++; b.last = now }

// Reset notes that an attempt succeeded.
func (b *Breaker) Reset() { b.failures = 0 }

// Failures counts the failures since the last success.
func (b *Breaker) Failures() int { return b.failures }

// Rest is how long it is until the next attempt is allowed.
func (b *Breaker) Rest(now time.Time) time.Duration {
	doublings := b.failures - b.Free - 1
	if doublings < 0 {
		return 0
	}
	rest := b.First
	for range doublings {
		if rest >= b.Longest {
			break
		}
		rest *= 2
	}
	return max(0, b.last.Add(min(b.Longest, rest)).Sub(now))
}
