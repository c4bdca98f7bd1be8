package supervisor

import "time"

// Breaker counts consecutive failures, and after some requires a rest before the next attempt. It is a circuit
// breaker without a half-open state. It is not safe for concurrent use.
type Breaker struct {
	// Free is the number of consecutive failures without a rest.
	Free int
	// First is the first rest. Each further failure doubles it, up to Longest.
	First, Longest time.Duration

	failures int
	last     time.Time
}

// Fail notes that an attempt failed now.
func (b *Breaker) Fail(now time.Time) { b.failures++; b.last = now }

// Reset notes that an attempt succeeded.
func (b *Breaker) Reset() { b.failures = 0 }

// Failures returns the failures since the last success.
func (b *Breaker) Failures() int { return b.failures }

// Rest returns the time until the next attempt is allowed.
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
