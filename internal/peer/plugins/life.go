package plugins

import (
	"context"
	"time"
)

// The events in the life of a plugin's process, for Options.Life. The names in
// quotes are those of an event's details.
const (
	// LifeStarted: the process runs and can be called; "pid", "took_ms",
	// "version".
	LifeStarted = "plugin_started"
	// LifeFailed: the process did not start; "error".
	LifeFailed = "plugin_start_failed"
	// LifeCrashed: the process ended by itself; "status".
	LifeCrashed = "plugin_crashed"
	// LifeEnded: the process was ended because it did not answer; "pid",
	// "error".
	LifeEnded = "plugin_unresponsive"
	// LifeStopped: the process was ended because it is no longer needed; "idle"
	// where nobody had used it for long.
	LifeStopped = "plugin_stopped"
)

// lifeLog reports the events of one process to Options.Life, in the context of
// the call that started the process.
type lifeLog struct {
	ctx    context.Context
	plugin string
	report func(ctx context.Context, plugin, event string, details map[string]any) // nil for nobody
}

func (p *plugin) lifeLog(ctx context.Context) lifeLog {
	return lifeLog{context.WithoutCancel(ctx), p.spec.Name, p.manager.options.Life}
}

func (l lifeLog) event(name string, details map[string]any) {
	if l.report != nil {
		l.report(l.ctx, l.plugin, name, details)
	}
}

// reportStart reports whether the process came up. It is called before the
// calls that wait for the process go on.
func (in *instance) reportStart(took time.Duration) {
	if in.failure != nil {
		in.life.event(LifeFailed, map[string]any{"error": in.failure.Message})
		return
	}
	in.plugin.Lock()
	version := in.plugin.description.Version
	in.plugin.Unlock()
	in.life.event(LifeStarted,
		map[string]any{"pid": in.runner.pid(), "version": version, "took_ms": took.Milliseconds()})
}
