package plugins

import (
	"context"
	"time"
)

// The events in the life of a plugin's process that Options.Life is told of.
const (
	// LifeStarted: it runs and can be called; "pid", "took_ms", "version".
	LifeStarted = "plugin_started"
	// LifeFailed: it did not start; "error".
	LifeFailed = "plugin_start_failed"
	// LifeCrashed: it ended by itself; "status".
	LifeCrashed = "plugin_crashed"
	// LifeEnded: it was ended because it did not answer; "pid", "error".
	LifeEnded = "plugin_unresponsive"
	// LifeStopped: it was ended because it is needed no longer.
	LifeStopped = "plugin_stopped"
)

// told is where the life of one process is told: to whom the call belongs that
// started it.
type told struct {
	ctx    context.Context
	plugin string
	tell   func(ctx context.Context, plugin, event string, details map[string]any)
}

func (p *plugin) told(ctx context.Context) told {
	return told{context.WithoutCancel(ctx), p.spec.Name, p.manager.options.Life}
}

func (t told) event(name string, details map[string]any) {
	if t.tell != nil {
		t.tell(t.ctx, t.plugin, name, details)
	}
}

// tellStart tells whether the process came up. It is called before anybody who
// waits for that goes on.
func (in *instance) tellStart(took time.Duration) {
	if in.failure != nil {
		in.life.event(LifeFailed, map[string]any{"error": in.failure.Message})
		return
	}
	in.plugin.mu.Lock()
	version := in.plugin.description.Version
	in.plugin.mu.Unlock()
	in.life.event(LifeStarted, map[string]any{"pid": in.runner.pid(), "version": version, "took_ms": took.Milliseconds()})
}
