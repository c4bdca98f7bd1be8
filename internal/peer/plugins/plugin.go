package plugins

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/peer/backoff"
	"github.com/toolhost/toolhost/internal/peer/plugins/pluginclient"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// plugin is one declared plugin: its description, the process that runs it if
// any, and its history.
type plugin struct {
	manager *Manager
	spec    Spec
	shipped *sdk.Plugin
	own     ownTools // of a plugin without a process

	mu          sync.Mutex
	current     *instance // being started or running
	launched    identity  // of the program when it was started last
	description *pluginclient.Description
	sha256      string
	closed      bool
	breaker     backoff.Breaker
	recalled    bool // whether earlier hosts' failures are in the breaker
	lastError   *tool.Error
	startTook   time.Duration
	starts      int
	crashes     int
	calls       int
	active      int         // uses of current that go on
	idle        *time.Timer // ends current; nil while it is in use
	tally       *tally
	// unconfigured plugins are only asked what they are.
	unconfigured bool
	ending       sync.WaitGroup // idle processes being ended
}

func newPlugin(m *Manager, spec Spec) (*plugin, error) {
	p := &plugin{manager: m, spec: spec}
	p.breaker = backoff.Breaker{Free: freeFailures, First: firstBackoff,
		Longest: cmp.Or(m.options.MaxBackoff, maxBackoff)}
	p.tally = &tally{file: &historyFile{dir: m.options.HistoryDir, workspace: m.options.Workspace.Root,
		name: spec.Name}}
	switch {
	case spec.Name == "":
		return nil, invalidSpec(spec, "has no name", "Give it one.")
	case spec.SHA256 != "" && !isSHA256(spec.SHA256):
		return nil, invalidSpec(spec, "has a checksum that is no SHA-256", "Give 64 hexadecimal digits.")
	case len(spec.Config) > 0 && !isObject(spec.Config):
		return nil, invalidSpec(spec, "has a configuration that is no JSON object", "Give an object.")
	case spec.Shipped:
		return p, p.findShipped()
	case spec.InProcess:
		return nil, invalidSpec(spec, "is not part of toolhost and cannot run in its process",
			"Let it have a process of its own.")
	case spec.Path == "" && spec.Problem == nil:
		return nil, invalidSpec(spec, "names no program", "Give the path of the plugin's program as its source.")
	}
	return p, nil
}

func (p *plugin) findShipped() error {
	if p.manager.options.Shipped != nil {
		if shipped, ok := p.manager.options.Shipped(p.spec.Name); ok {
			p.shipped = &shipped
			return nil
		}
	}
	return invalidSpec(p.spec, "is not one of those that come with toolhost",
		"Give the path of its program as its source.")
}

func invalidSpec(spec Spec, what, next string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "plugin %q %s", spec.Name, what).Suggest("%s", next)
}

func isSHA256(s string) bool {
	data, err := hex.DecodeString(s)
	return err == nil && len(data) == 32
}

func isObject(data json.RawMessage) bool {
	if string(data) == "{}" {
		return true
	}
	var m map[string]json.RawMessage
	return json.Unmarshal(data, &m) == nil && m != nil
}

// acquire gives the running process, starting it if need be. Callers that
// come while it starts wait for the same start. It stays until it is released.
func (p *plugin) acquire(ctx context.Context) (*instance, error) {
	for {
		in, err := backoff.Await(ctx, func() (*instance, time.Duration, error) { return p.pick(ctx) })
		if err != nil {
			return nil, err
		}
		if in.failure != nil {
			return nil, in.failure
		}
		if in.dead() {
			p.ended(in)
		} else if p.hold(in) {
			return in, nil
		}
	}
}

// hold keeps in from being ended for being idle. It fails when in is no longer
// in use.
func (p *plugin) hold(in *instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != in {
		return false
	}
	p.active++
	if p.idle != nil {
		p.idle.Stop()
		p.idle = nil
	}
	return true
}

// done is the end of a use that acquire began. After the last, the process is
// ended when nobody uses it for the idle timeout.
func (p *plugin) done(in *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != in {
		return // its successor counts anew
	}
	if p.active--; p.active == 0 && p.spec.IdleTimeout > 0 {
		p.idle = time.AfterFunc(p.spec.IdleTimeout, func() { p.endIdle(in) })
	}
}

// endIdle ends a process that nobody uses.
func (p *plugin) endIdle(in *instance) {
	p.mu.Lock()
	unused := p.current == in && p.active == 0 && !p.closed
	if unused {
		p.current, p.idle = nil, nil
		p.ending.Add(1)
	}
	p.mu.Unlock()
	if unused {
		p.manager.logger.Debug("plugin ended because nobody uses it", "plugin", p.spec.Name, "pid", in.runner.pid())
		in.stop()
		in.life.event(LifeStopped, map[string]any{"idle": true})
		p.ending.Done()
	}
}

// pick gives the current process, or starts one, or says how long to wait
// before one may be started.
func (p *plugin) pick(ctx context.Context) (*instance, time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, closedError(p.spec.Name)
	}
	if p.current != nil {
		return p.current, 0, nil
	}
	if _, attached := p.attachment(); p.spec.Problem != nil && !attached {
		p.lastError = p.spec.Problem
		return nil, 0, p.spec.Problem
	}
	p.recallFailures()
	if wait := p.breaker.Rest(time.Now()); wait > maxBackoffWait {
		return nil, 0, p.tripped(wait)
	} else if wait > 0 {
		return nil, wait, nil
	}
	in := newInstance(ctx, p)
	p.launched = p.programIdentity()
	p.current, p.active, p.idle = in, 0, nil
	p.starts++
	go p.run(in)
	return in, 0, nil
}

// run starts the process, watches it and notes its end.
func (p *plugin) run(in *instance) {
	began := time.Now()
	in.failure = in.start()
	in.reportStart(time.Since(began))
	p.mu.Lock()
	p.startTook = time.Since(began)
	if in.failure != nil {
		p.failed(in, in.failure)
		counts := !p.closed
		p.mu.Unlock()
		if counts {
			p.tally.failedStart(in.failure, time.Since(began), p.programIdentity(), p.configDigest())
		}
		close(in.ready)
		return
	}
	p.tally.started(in.runner.pid(), in.readyAt, time.Since(began))
	close(in.ready)
	p.mu.Unlock()
	p.manager.logger.Debug("plugin started", "plugin", p.spec.Name, "pid", in.runner.pid(), "took", time.Since(began))
	<-in.runner.exited
	p.ended(in)
}

// failed notes that in cannot be used. The lock is held.
func (p *plugin) failed(in *instance, err *tool.Error) {
	if p.current == in {
		p.current = nil
	}
	if !p.closed {
		p.lastError = err
		p.breaker.Fail(time.Now())
	}
}

// ended notes the end of a process that had started. The first to see it does
// so, be it a call or the watch.
func (p *plugin) ended(in *instance) {
	in.endOnce.Do(func() {
		p.mu.Lock()
		expected := p.closed || in.stopping.Load()
		if expected && p.current == in {
			p.current = nil
		}
		var crash *tool.Error
		if !expected {
			crash = in.crashError("ended")
			p.crashes++
			p.failed(in, crash)
		}
		p.mu.Unlock()
		p.tally.ended(in.runner.pid(), in.runner.peakMemory(), crash)
		if !expected {
			in.life.event(LifeCrashed, map[string]any{"status": in.runner.exitStatus()})
			p.manager.logger.Warn("plugin ended unexpectedly", "plugin", p.spec.Name, "status", in.runner.exitStatus())
		}
		go in.release()
	})
}

func (p *plugin) succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breaker.Reset()
	p.lastError = nil
}

func (p *plugin) countCall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
}

// missing are the permissions that a tool asks for and that the plugin was not
// granted.
func (p *plugin) missing(d *tool.Definition) []tool.Permission {
	if p.spec.Granted == nil {
		return nil
	}
	var out []tool.Permission
	for _, wanted := range d.Permissions {
		if !slices.Contains(p.spec.Granted, wanted) {
			out = append(out, wanted)
		}
	}
	return out
}

// Used reports whether the plugin was ever started.
func (p *plugin) Used() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts > 0
}

// Close ends the process, if there is one, and returns when it has ended.
func (p *plugin) Close() {
	p.mu.Lock()
	p.closed = true
	in := p.current
	p.current = nil
	if p.idle != nil {
		p.idle.Stop()
	}
	p.mu.Unlock()
	if in != nil {
		ran := in.isReady() && !in.dead()
		in.stop()
		if in.failure == nil {
			p.ended(in)
		}
		if ran {
			in.life.event(LifeStopped, nil)
		}
	}
	p.ending.Wait()
	p.tally.close()
}

func (p *plugin) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{
		Name: p.spec.Name, Path: p.path(), Shipped: p.spec.Shipped, SHA256: p.sha256, State: p.state(),
		StartTook: p.startTook, Starts: p.starts, Crashes: p.crashes, Calls: p.calls, LastError: p.lastError,
	}
	if wait := p.breaker.Rest(time.Now()); wait > 0 {
		s.RetryAt = time.Now().Add(wait)
	}
	switch {
	case p.description != nil:
		s.Version, s.Tools = p.description.Version, len(p.description.Tools)
	case p.shipped != nil:
		s.Version, s.Tools = p.shipped.Version, len(p.shipped.Tools)
	}
	if s.State == Running {
		s.PID, s.StartedAt, s.Protocol = p.current.runner.pid(), p.current.readyAt, p.current.client.Version()
		if at, ok := p.attachment(); ok {
			s.PID = at.PID
		}
	}
	return s
}

func (p *plugin) state() State {
	switch {
	case p.closed:
		return Closed
	case p.current != nil && p.current.isReady():
		return Running
	case p.current != nil:
		return Starting
	case p.lastError != nil:
		return Failed
	case p.inProcess():
		return InProcess
	}
	return Idle
}

func (p *plugin) path() string {
	if p.spec.Shipped {
		return p.manager.options.HostBinary
	}
	return p.spec.Path
}
