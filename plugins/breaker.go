package plugins

import (
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// A plugin that failed is started again by the next call at once, after
// further failures in a row only some time later: the wait doubles from
// firstBackoff to maxBackoff. A call waits for its turn up to maxBackoffWait
// and is refused where it would take longer.
const (
	firstBackoff   = 100 * time.Millisecond
	maxBackoff     = 30 * time.Second
	maxBackoffWait = 500 * time.Millisecond
)

// breaker counts failures in a row.
type breaker struct {
	failures int
	last     time.Time
	longest  time.Duration // 0 means maxBackoff
	cost     time.Duration // of the last failure, where earlier hosts had it
	recalled bool
}

func (b *breaker) fail(now time.Time) { b.failures++; b.last = now }
func (b *breaker) reset()             { b.failures, b.cost = 0, 0 }

// wait is how long it is until the next start is allowed.
func (b *breaker) wait(now time.Time) time.Duration {
	if b.failures < 2 {
		return 0
	}
	backoff := b.longest
	if backoff <= 0 {
		backoff = maxBackoff
	}
	if shift := b.failures - 2; shift < 9 {
		backoff = min(backoff, max(firstBackoff<<shift, costFactor*b.cost))
	}
	return max(0, b.last.Add(backoff).Sub(now))
}

// costFactor is how much longer than a failed start took a plugin rests after
// two of them in other hosts. So one that hangs does not make every command
// wait.
const costFactor = 3

// recallFailures takes the failed starts of earlier hosts into account, unless
// the program has changed since. The lock is held.
func (p *plugin) recallFailures() {
	if p.breaker.recalled {
		return
	}
	p.breaker.recalled = true
	h := p.tally.file.read()
	if h.FailuresInRow == 0 || h.LastError == nil || h.Failed != p.programIdentity() {
		return
	}
	p.breaker.failures, p.breaker.last, p.breaker.cost = h.FailuresInRow, h.LastErrorAt, h.FailureTook
	p.lastError = h.LastError
}

// programIdentity tells one state of the plugin's program from another; it is
// zero where that cannot be known.
func (p *plugin) programIdentity() identity {
	if p.spec.Shipped {
		return identity{}
	}
	info, err := os.Stat(p.spec.Path)
	if err != nil {
		return identity{}
	}
	return identityOf(info)
}

// tripped is the error of a call that comes too early. The lock is held.
func (p *plugin) tripped(wait time.Duration) *tool.Error {
	e := tool.Errorf(tool.Unavailable, "plugin %s failed %d times in a row and rests for another %s; the last failure: %s",
		p.spec.Name, p.breaker.failures, wait.Round(100*time.Millisecond), p.lastError.Message)
	return e.Suggest("Mend the plugin, or call again later.").With("retry_after_ms", wait.Milliseconds())
}
