package plugins

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
	"github.com/toolhost/toolhost/internal/source/supervisor"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// plugin is one declared plugin: its description, and its process if any.
type plugin struct {
	manager *Manager
	spec    Spec
	shipped *sdk.Plugin
	own     ownTools // of a plugin without a process

	supervisor.Supervisor[*instance] // guards what follows

	launched    identity // of the program started last
	description *pluginclient.Description
	sha256      string
	calls       int
	// unconfigured plugins are only described.
	unconfigured bool
}

func newPlugin(m *Manager, spec Spec) (*plugin, error) {
	p := &plugin{manager: m, spec: spec}
	p.Breaker = supervisor.Breaker{Free: freeFailures, First: firstBackoff,
		Longest: cmp.Or(m.options.MaxBackoff, maxBackoff)}
	p.Patience, p.IdleTimeout = maxBackoffWait, spec.IdleTimeout
	sum, badHex := hex.DecodeString(spec.SHA256)
	switch {
	case spec.Name == "":
		return nil, invalidSpec(spec, "has no name", "Give it one.")
	case spec.SHA256 != "" && (badHex != nil || len(sum) != sha256.Size):
		return nil, invalidSpec(spec, "has a checksum that is not a SHA-256 checksum", "Give 64 hexadecimal digits.")
	case len(spec.Config) > 0 && !isObject(spec.Config):
		return nil, invalidSpec(spec, "has a configuration that is not a JSON object", "Give an object.")
	case spec.Shipped:
		if m.options.Shipped != nil {
			if shipped, ok := m.options.Shipped(spec.Name); ok {
				p.shipped = &shipped
				return p, nil
			}
		}
		return nil, invalidSpec(spec, "is not one of those that come with toolhost",
			"Give the path of its program as its source.")
	case spec.InProcess:
		return nil, invalidSpec(spec, "is not part of toolhost and cannot run in its process",
			"Let it have a process of its own.")
	case spec.Path == "" && spec.Problem == nil:
		return nil, invalidSpec(spec, "names no program", "Give the path of the plugin's program as its source.")
	}
	return p, nil
}

func invalidSpec(spec Spec, what, next string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "plugin %q %s", spec.Name, what).Suggest("%s", next)
}

func isObject(data json.RawMessage) bool {
	if string(data) == "{}" {
		return true
	}
	var m map[string]json.RawMessage
	return json.Unmarshal(data, &m) == nil && m != nil
}

// acquire returns the running process, starting it if necessary. It stays until done.
func (p *plugin) acquire(ctx context.Context) (*instance, error) { return p.Acquire(ctx, p) }

func (p *plugin) done(in *instance) {
	p.Release(in, func() {
		p.manager.logger.Debug("plugin ended because it is not used", "plugin", p.spec.Name, "pid", in.runner.pid())
		in.stop()
		in.life.event(LifeStopped, map[string]any{"idle": true})
	})
}

// Admit implements supervisor.Peer.
func (p *plugin) Admit() error {
	if p.IsClosed {
		return closedError(p.spec.Name)
	}
	if _, attached := p.attachment(); p.spec.Problem != nil && !attached {
		p.LastError = p.spec.Problem
		return p.spec.Problem
	}
	return nil
}

// Begin implements supervisor.Peer.
func (p *plugin) Begin(ctx context.Context) *instance {
	in := &instance{plugin: p, life: p.lifeLog(ctx), ready: make(chan struct{}), runner: newRunner(p)}
	p.launched = p.programIdentity()
	go p.run(in)
	return in
}

func (p *plugin) run(in *instance) {
	began := time.Now()
	in.failure = in.start()
	in.reportStart(time.Since(began))
	p.Lock()
	p.StartTook = time.Since(began)
	if in.failure != nil {
		p.Fail(in, in.failure, true)
		p.Unlock()
		close(in.ready)
		return
	}
	close(in.ready)
	p.Unlock()
	p.manager.logger.Debug("plugin started", "plugin", p.spec.Name, "pid", in.runner.pid(), "took", time.Since(began))
	<-in.runner.exited
	p.Lost(in)
}

// Lost implements supervisor.Peer. A call or the watch may be the first to see the end.
func (p *plugin) Lost(in *instance) {
	in.endOnce.Do(func() {
		crash := in.crashError("ended")
		if expected := p.Lose(in, in.stopping.Load(), crash); !expected {
			in.life.event(LifeCrashed, map[string]any{"status": in.runner.exitStatus()})
			p.manager.logger.Warn("plugin ended unexpectedly", "plugin", p.spec.Name, "status", in.runner.exitStatus())
		}
		go in.release()
	})
}

func (p *plugin) countCall() {
	p.Lock()
	defer p.Unlock()
	p.calls++
}

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

// Close ends the process, if any, and waits for it.
func (p *plugin) Close() {
	if in := p.Shut(); in != nil {
		ran := in.isReady() && !in.Gone()
		in.stop()
		if in.failure == nil {
			p.Lost(in)
		}
		if ran {
			in.life.event(LifeStopped, nil)
		}
	}
	p.Wait()
}

func (p *plugin) status() Status {
	p.Lock()
	defer p.Unlock()
	s := Status{
		Name: p.spec.Name, Path: p.path(), Shipped: p.spec.Shipped, SHA256: p.sha256, State: p.state(),
		StartTook: p.StartTook, Starts: p.Starts, Crashes: p.Losses, Calls: p.calls, LastError: p.LastError,
	}
	s.RetryAt = p.RetryAt()
	if s.LastError == nil {
		s.LastError = p.spec.Problem
	}
	switch {
	case p.description != nil:
		s.Version, s.Tools = p.description.Version, len(p.description.Tools)
	case p.shipped != nil:
		s.Version, s.Tools = p.shipped.Version, len(p.shipped.Tools)
	}
	if s.State == Running {
		s.PID, s.StartedAt, s.Protocol = p.Current.runner.pid(), p.Current.readyAt, p.Current.client.Version()
		if at, ok := p.attachment(); ok {
			s.PID = at.PID
		}
	}
	return s
}

func (p *plugin) state() State {
	if s := p.State(); s != Idle || !p.inProcess() {
		return s
	}
	return InProcess
}

func (p *plugin) path() string {
	if p.spec.Shipped {
		return ""
	}
	return p.spec.Path
}
