package plugins

import (
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// A failed plugin is restarted by the next call at once, after further failures in a row only after a rest. A
// call waits up to maxBackoffWait for that, else it is refused.
const (
	freeFailures   = 1
	firstBackoff   = 100 * time.Millisecond
	maxBackoff     = 30 * time.Second
	maxBackoffWait = 500 * time.Millisecond
)

// programIdentity identifies the state of the plugin's program; zero if unknown.
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

// Resting returns the error of a call during the rest. Must be called with the lock held.
func (p *plugin) Resting(wait time.Duration) *tool.Error {
	e := tool.Errorf(tool.Unavailable,
		"plugin %s failed %d times in a row; retrying in %s; the last failure: %s",
		p.spec.Name, p.Breaker.Failures(), wait.Round(100*time.Millisecond), p.LastError.Message)
	return e.Suggest("Fix the plugin, or call again later.").With("retry_after_ms", wait.Milliseconds())
}
