package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// A plugin that failed is started again by the next call at once, after
// further failures in a row only some time later. A call waits for its turn up
// to maxBackoffWait and is refused where it would take longer.
const (
	freeFailures   = 1
	firstBackoff   = 100 * time.Millisecond
	maxBackoff     = 30 * time.Second
	maxBackoffWait = 500 * time.Millisecond
)

// costFactor is how much longer than a failed start took a plugin rests after
// two of them in other hosts. So one that hangs does not make every command
// wait.
const costFactor = 3

// recallFailures takes the failed starts of earlier hosts into account, unless
// the program or its configuration has changed since. The lock is held.
func (p *plugin) recallFailures() {
	if p.recalled || p.manager.options.Anew {
		return
	}
	p.recalled = true
	h := p.tally.file.read()
	program := p.programIdentity()
	missing := program == identity{} && !p.spec.Shipped // it fails at once, and may have come meanwhile
	if h.FailuresInRow == 0 || h.LastError == nil || !h.LastErrorAt.After(p.spec.Since) || missing || h.Failed != program ||
		h.FailedConfig != p.configDigest() {
		return
	}
	p.Breaker.Recall(h.FailuresInRow, h.LastErrorAt, costFactor*h.FailureTook)
	p.LastError = h.LastError
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

// configDigest tells one configuration from another. It may hold secrets, so it
// is not kept itself.
func (p *plugin) configDigest() string {
	sum := sha256.Sum256(tool.MustMarshal([]any{p.spec.Config, p.spec.Args, p.spec.Env}))
	return hex.EncodeToString(sum[:8])
}

// Resting is the error of a call that comes too early. The lock is held.
func (p *plugin) Resting(wait time.Duration) *tool.Error {
	e := tool.Errorf(tool.Unavailable,
		"plugin %s failed %d times in a row and rests for another %s; the last failure: %s",
		p.spec.Name, p.Breaker.Failures(), wait.Round(100*time.Millisecond), p.LastError.Message)
	return e.Suggest("Fix the plugin, or call again later.").With("retry_after_ms", wait.Milliseconds())
}
