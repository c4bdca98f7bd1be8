package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// shutdownGrace is how long a plugin has to end when asked, before its runner ends it.
const shutdownGrace = time.Second

// instance is one process of a plugin. Like its go-plugin client it is started once.
type instance struct {
	plugin *plugin
	runner *guardedRunner
	gp     *goplugin.Client
	client *pluginclient.Client
	conn   *grpc.ClientConn // of an attached plugin, else nil

	ready    chan struct{} // closed when the start succeeded or failed
	failure  *tool.Error   // of the start; set before ready is closed
	readyAt  time.Time
	stopping atomic.Bool
	endOnce  sync.Once
	freed    sync.Once
	life     lifeLog
}

// Ready implements supervisor.Attempt, as Failure and Gone do.
func (in *instance) Ready() <-chan struct{} { return in.ready }

// Failure returns why the start failed.
func (in *instance) Failure() *tool.Error { return in.failure }

func (in *instance) isReady() bool {
	select {
	case <-in.ready:
		return in.failure == nil
	default:
		return false
	}
}

// Gone reports whether the process has ended.
func (in *instance) Gone() bool {
	select {
	case <-in.runner.exited:
		return true
	default:
		return false
	}
}

// start starts the process and makes its tools callable. After an error nothing is left of it.
func (in *instance) start() *tool.Error {
	timeout := in.plugin.spec.StartTimeout
	if timeout <= 0 {
		timeout = DefaultStartTimeout
	}
	if _, ok := in.plugin.attachment(); ok {
		timeout = attachedStartTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	watchdog := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			in.runner.timedOut.Store(true)
			in.runner.stop()
		}
	})
	defer watchdog()

	if err := in.bringUp(ctx, timeout); err != nil {
		in.runner.stop()
		in.release()
		return in.startError(err, timeout)
	}
	in.readyAt = time.Now()
	return nil
}

func (in *instance) bringUp(ctx context.Context, timeout time.Duration) error {
	if at, ok := in.plugin.attachment(); ok {
		return in.attach(ctx, at)
	}
	dir, err := in.plugin.manager.sockets.path()
	if err != nil {
		return err
	}
	if err := in.runner.prepare(); err != nil {
		return err
	}
	in.gp = goplugin.NewClient(in.clientConfig(dir, timeout))
	protocol, err := in.gp.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(wire.ServiceName)
	if err != nil {
		return err
	}
	in.use(raw)
	return in.introduce(ctx)
}

func (in *instance) use(raw any) { in.client = raw.(*pluginclient.Client) }

func (in *instance) clientConfig(dir string, timeout time.Duration) *goplugin.ClientConfig {
	versions := make(map[int]goplugin.PluginSet)
	for _, v := range wire.Versions() {
		versions[v] = goplugin.PluginSet{wire.ServiceName: in.dispenser(v)}
	}
	return &goplugin.ClientConfig{
		HandshakeConfig:  wire.HandshakeConfig(),
		VersionedPlugins: versions,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc:       in.runner.adopt,
		SkipHostEnv:      true,
		// Longer, so that our watchdog ends a slow start with its message.
		StartTimeout:     2 * timeout,
		Logger:           hclog.NewNullLogger(),
		SyncStdout:       in.runner.lines("stdout"),
		SyncStderr:       in.runner.lines("stderr"),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		GRPCDialOptions:  dialOptions(),
	}
}

func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(wire.MaxMessage),
			grpc.MaxCallSendMsgSize(wire.MaxMessage),
		),
		grpc.WithInitialWindowSize(wire.Window),
		grpc.WithInitialConnWindowSize(4 * wire.Window),
		grpc.WithReadBufferSize(wire.Buffer),
		grpc.WithWriteBufferSize(wire.Buffer),
	}
}

// dispenser makes the client for one protocol version.
type dispenser struct {
	goplugin.NetRPCUnsupportedPlugin
	version int
	grace   time.Duration
	shipped bool
}

func (in *instance) dispenser(version int) dispenser {
	return dispenser{version: version, grace: in.plugin.manager.options.CancelGrace, shipped: in.plugin.spec.Shipped}
}

func (dispenser) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("the host serves no plugin")
}

func (d dispenser) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	client := pluginclient.New(conn, d.version, d.grace)
	if d.shipped {
		client = client.Trusted()
	}
	return client, nil
}

// introduce gets the description, passes the configuration and notes what the plugin then offers.
func (in *instance) introduce(ctx context.Context) error {
	p := in.plugin
	first, err := in.client.Describe(ctx)
	if err != nil {
		return err
	}
	if p.unconfigured {
		if err := checkDescription(p.spec.Name, first); err != nil {
			return err
		}
		p.learn(first, in.runner.binary)
		return nil
	}
	p.keepSensitive(first.ConfigSchema, p.spec.Config)
	config, err := checkConfig(p.spec, first.ConfigSchema)
	if err != nil {
		return err
	}
	p.keepSensitive(first.ConfigSchema, config)
	ws := p.manager.options.Workspace
	d, err := in.client.Configure(ctx, pluginclient.Setup{
		Config: config, HostVersion: p.manager.options.HostVersion,
		Root: ws.Root, Allow: ws.Allow, Protect: ws.Protect, Symlinks: ws.Symlinks,
	})
	if err != nil {
		return err
	}
	if err := checkDescription(p.spec.Name, d); err != nil {
		return err
	}
	p.learn(d, in.runner.binary)
	return nil
}

// startError explains why the start failed. What the runner saw precedes go-plugin's texts.
func (in *instance) startError(err error, timeout time.Duration) *tool.Error {
	r := in.runner
	var told *tool.Error
	if errors.As(err, &told) {
		return in.explain(told.Code, told.Message, told.Suggestion)
	}
	name, line, exited := in.plugin.spec.Name, r.handshake(), r.hasExited()
	switch {
	case in.plugin.isClosed():
		return closedError(name)
	case r.startupError() != "":
		return in.explain(tool.Unavailable, "plugin "+name+" cannot start: "+r.startupError(),
			"Fix what the plugin complains of.")
	case r.refused != nil:
		return in.explain(tool.Unavailable, "plugin "+name+" "+r.refused.Error(),
			"Ask the plugin's author for a version that is made for this toolhost.")
	case r.timedOut.Load():
		return in.explain(tool.Unavailable, fmt.Sprintf("plugin %s was not ready after %s", name, timeout),
			"Look into the log for what it does at its start, or give it a longer start timeout.")
	case r.launchError != nil:
		return in.explain(tool.Unavailable, fmt.Sprintf("plugin %s cannot be run: %v", name, r.launchError),
			"Check that the program exists, is executable, and is built for this machine.")
	case line != nil && (line.version < wire.OldestVersion || line.version > ProtocolVersion):
		return in.explain(tool.Unavailable,
			fmt.Sprintf("plugin %s speaks version %d of the plugin protocol, and this toolhost speaks versions %d to %d",
				name, line.version, wire.OldestVersion, ProtocolVersion),
			"Use a version of the plugin or of toolhost that matches the other.")
	case line == nil && exited:
		return in.explain(tool.Unavailable,
			fmt.Sprintf("plugin %s ended before it was ready: %s", name, r.exitStatus()),
			"Check that the program is a toolhost plugin; its last words are in the message, if there were any.")
	case exited:
		return in.explain(tool.Unavailable, fmt.Sprintf("plugin %s died while starting: %s", name, r.exitStatus()),
			"This is a mistake in the plugin; tell its author.")
	}
	return in.explain(tool.Unavailable, fmt.Sprintf("plugin %s cannot be reached: %v", name, err),
		"Look into the log for what happened at its start.")
}

// explain returns an error that names the plugin and quotes its last output.
func (in *instance) explain(code tool.Code, message, next string) *tool.Error {
	lines := in.runner.lastLines()
	if len(lines) > 0 {
		message += "; its last words:\n" + strings.Join(lines, "\n")
		if denied := in.plugin.manager.options.Denied; denied != nil && !in.plugin.spec.Shipped {
			next = strings.TrimSpace(denied(in.plugin.spec.Name, strings.Join(lines, "\n")) + " " + next)
		}
	}
	e := tool.Errorf(code, "%s", message).Suggest("%s", next).With("plugin", in.plugin.spec.Name)
	if len(lines) > 0 {
		e = e.With("stderr", lines)
	}
	return e
}

func (in *instance) crashError(when string) *tool.Error {
	return in.explain(tool.Unavailable,
		fmt.Sprintf("plugin %s %s: %s", in.plugin.spec.Name, when, in.runner.exitStatus()),
		"The next call starts the plugin again. Whether this call had an effect is not known: look before repeating it.")
}

// stop ends the process, first politely, and frees its resources. A start in progress is aborted.
func (in *instance) stop() {
	in.stopping.Store(true)
	if !in.isReady() {
		in.runner.stop()
	}
	<-in.ready
	in.release()
}

// release lets go-plugin end the process and clean up. go-plugin waits without a limit, so the runner ends a
// slow process. It must be called after the start.
func (in *instance) release() {
	in.freed.Do(func() {
		late := time.AfterFunc(shutdownGrace, in.runner.stop)
		defer late.Stop()
		if in.gp != nil {
			in.gp.Kill()
		}
		if in.conn != nil {
			in.conn.Close()
		}
		in.runner.stop()
		in.runner.cleanUp()
	})
}

func (p *plugin) isClosed() bool {
	p.Lock()
	defer p.Unlock()
	return p.IsClosed
}

// Events of a plugin's process, for Options.Life. Quoted names are an event's details.
const (
	// LifeStarted: the process can be called; "pid", "took_ms", "version".
	LifeStarted = "plugin_started"
	// LifeFailed: the process did not start; "error".
	LifeFailed = "plugin_start_failed"
	// LifeCrashed: the process ended by itself; "status".
	LifeCrashed = "plugin_crashed"
	// LifeEnded: the process was ended because it hung; "pid", "error".
	LifeEnded = "plugin_unresponsive"
	// LifeStopped: the process was ended as no longer needed; "idle" if unused for long.
	LifeStopped = "plugin_stopped"
)

// lifeLog reports the events of one process to Options.Life, in the context of the call that started it.
type lifeLog struct {
	ctx    context.Context
	plugin string
	report func(ctx context.Context, plugin, event string, details map[string]any) // may be nil
}

func (p *plugin) lifeLog(ctx context.Context) lifeLog {
	return lifeLog{context.WithoutCancel(ctx), p.spec.Name, p.manager.options.Life}
}

func (l lifeLog) event(name string, details map[string]any) {
	if l.report != nil {
		l.report(l.ctx, l.plugin, name, details)
	}
}

// reportStart reports the start before waiting calls continue.
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
