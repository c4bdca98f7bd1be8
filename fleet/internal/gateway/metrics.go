package gateway

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
)

type usage struct{ calls atomic.Int64 }

// limit takes one of a tenant's concurrent calls.
func (g *Gateway) limit(t *Tenant) (release func(), err error) {
	g.mu.Lock()
	u := g.limits[t.Name]
	if u == nil {
		u = new(usage)
		g.limits[t.Name] = u
	}
	g.mu.Unlock()
	if n := u.calls.Add(1); t.Calls > 0 && n > int64(t.Calls) {
		u.calls.Add(-1)
		return nil, tool.Errorf(fleet.CodeBusy, "%s has %d calls at one time, which is its limit", t.Name, t.Calls).
			Suggest("Nothing was run. Try again in %s.", retryAfter)
	}
	return func() { u.calls.Add(-1) }, nil
}

type metrics struct {
	requests, calls, busy, lost, restored, workersLost atomic.Int64
	buckets                                            [len(bounds) + 1]atomic.Int64
	sum                                                atomic.Int64 // total duration of calls, in microseconds
}

// bounds are those of the histogram of calls, in seconds.
var bounds = [...]float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60}

func (m *metrics) observe(call bool, took time.Duration) {
	m.requests.Add(1)
	if !call {
		return
	}
	m.calls.Add(1)
	m.sum.Add(took.Microseconds())
	for i, bound := range bounds {
		if took.Seconds() <= bound {
			m.buckets[i].Add(1)
			return
		}
	}
	m.buckets[len(bounds)].Add(1)
}

// WriteMetrics writes the metrics in Prometheus' text format.
func (g *Gateway) WriteMetrics(w io.Writer) {
	m := &g.metrics
	for _, c := range []struct {
		name, help string
		value      int64
	}{
		{"requests", "HTTP requests", m.requests.Load()},
		{"calls", "calls of tools, resources and prompts", m.calls.Load()},
		{"busy", "requests refused for lack of room", m.busy.Load()},
		{"calls_lost", "calls whose worker was lost while they ran", m.lost.Load()},
		{"sessions_restored", "sessions that another worker took over after a loss", m.restored.Load()},
		{"workers_lost", "workers that were taken for lost", m.workersLost.Load()},
	} {
		fmt.Fprintf(w, "# HELP toolhost_fleet_%s_total %s\n# TYPE toolhost_fleet_%s_total counter\ntoolhost_fleet_%s_total %d\n",
			c.name, c.help, c.name, c.name, c.value)
	}
	fmt.Fprintf(w, "# HELP toolhost_fleet_call_seconds time of calls\n# TYPE toolhost_fleet_call_seconds histogram\n")
	total := int64(0)
	for i, bound := range bounds {
		total += m.buckets[i].Load()
		fmt.Fprintf(w, "toolhost_fleet_call_seconds_bucket{le=\"%g\"} %d\n", bound, total)
	}
	total += m.buckets[len(bounds)].Load()
	fmt.Fprintf(w, "toolhost_fleet_call_seconds_bucket{le=\"+Inf\"} %d\ntoolhost_fleet_call_seconds_sum %g\n"+
		"toolhost_fleet_call_seconds_count %d\n", total, float64(m.sum.Load())/1e6, total)
	g.writeWorkers(w)
}

func (g *Gateway) writeWorkers(w io.Writer) {
	var slots, running, queued, sessions int
	g.mu.Lock()
	workers := len(g.workers)
	for _, p := range g.workers {
		slots, running = slots+p.beat.Slots, running+p.beat.Running
		queued, sessions = queued+p.beat.Queued, sessions+p.beat.Sessions
	}
	g.mu.Unlock()
	for _, c := range []struct {
		name, help string
		value      int
	}{
		{"workers", "workers that are alive", workers}, {"slots", "slots of all workers", slots},
		{"running", "calls that run", running}, {"queued", "calls that wait for a slot", queued},
		{"sessions", "sessions on workers", sessions},
	} {
		fmt.Fprintf(w, "# HELP toolhost_fleet_%s %s\n# TYPE toolhost_fleet_%s gauge\ntoolhost_fleet_%s %d\n",
			c.name, c.help, c.name, c.name, c.value)
	}
}
