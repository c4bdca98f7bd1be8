// Package plugintest tests a plugin the way toolhost uses it: over the real protocol, in the test's
// process ([Start]) or as a program ([StartProgram]), with a host that the test controls ([Host]):
//
//	func TestHello(t *testing.T) {
//		p := plugintest.Start(t, plugin(), plugintest.Options{})
//		result, err := p.Call(t.Context(), "say_hello", map[string]any{"name": "world"})
//		if err != nil {
//			t.Fatal(err)
//		}
//		if got := result.Text(); got != "Hello, world!" {
//			t.Errorf("got %q", got)
//		}
//	}
package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Options configures a test. The zero value means an empty workspace, no configuration and a new Host.
type Options struct {
	// Config is the configuration: anything that encoding/json encodes as an object. Nil means {}.
	Config any
	// Workspace is the plugin's workspace; by default its Root is a new temporary directory.
	Workspace sdk.Workspace
	// Host provides services during calls.
	Host *Host
	// Env are environment variables of a program, besides the test's.
	Env map[string]string
}

// Plugin is a running plugin.
type Plugin struct {
	// Host is the plugin's host.
	Host *Host
	// Root is the workspace's directory.
	Root string

	client      *pluginclient.Client
	description *pluginclient.Description
	steps       int
}

// Start serves p in the test's process until the test ends. The test fails if the plugin cannot be described or
// refuses its configuration.
func Start(t testing.TB, p sdk.Plugin, options Options) *Plugin {
	t.Helper()
	out, err := TryStart(t, p, options)
	if err != nil {
		t.Fatalf("plugintest: the plugin does not start: %v", err)
	}
	return out
}

// TryStart is Start for a plugin that may refuse its configuration. The error is a *tool.Error.
func TryStart(t testing.TB, p sdk.Plugin, options Options) (*Plugin, error) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage))
	if err := p.Register(server); err != nil {
		return nil, tool.AsError(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///plugin",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error) {
			return listener.DialContext(ctx)
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage),
			grpc.MaxCallSendMsgSize(wire.MaxMessage)),
	)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	return introduce(t, pluginclient.New(conn, wire.OldestVersion, wire.CancelGrace), options)
}

// introduce does what toolhost does before a plugin's first call.
func introduce(t testing.TB, client *pluginclient.Client, options Options) (*Plugin, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first, err := client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	config, err := checkedConfig(options.Config, first.ConfigSchema)
	if err != nil {
		return nil, err
	}
	ws := options.Workspace
	if ws.Root == "" {
		ws.Root = t.TempDir()
	}
	p := &Plugin{Host: options.Host, Root: ws.Root, client: client}
	if p.Host == nil {
		p.Host = new(Host)
	}
	p.description, err = client.Configure(ctx, pluginclient.Setup{
		Config: config, HostVersion: "test",
		Root: ws.Root, Allow: ws.Allow, Protect: ws.Protect, Symlinks: ws.Symlinks,
	})
	return p, err
}

func checkedConfig(config any, declared json.RawMessage) (json.RawMessage, error) {
	if config == nil {
		config = struct{}{}
	}
	data := tool.MustMarshal(config)
	if len(declared) == 0 {
		return data, nil
	}
	return decode("the configuration", declared, data)
}

// decode checks data against a schema and fills in defaults, as the host does.
func decode(what string, raw, data json.RawMessage) (json.RawMessage, error) {
	compiled, err := schema.Compile(raw)
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "%s has a broken schema: %w", what, err)
	}
	data, _, violations := compiled.Decode(data)
	if len(violations) == 0 {
		return data, nil
	}
	return nil, tool.Errorf(tool.InvalidArgument, "%s is wrong: %s", what, schema.Join(violations)).
		Suggest("Fix what is named.")
}

// Name returns the plugin's name.
func (p *Plugin) Name() string { return p.description.Name }

// Version returns the plugin's version.
func (p *Plugin) Version() string { return p.description.Version }

// Tools returns the definitions of the plugin's tools.
func (p *Plugin) Tools() []*sdk.Definition {
	out := make([]*sdk.Definition, len(p.description.Tools))
	for i, t := range p.description.Tools {
		out[i] = t.Definition
	}
	return out
}

// Call calls a tool. params is anything that encoding/json encodes as an object; nil means {}. As in the host,
// they are checked against the tool's schema first, and the plugin may render that error.
func (p *Plugin) Call(ctx context.Context, name string, params any) (*sdk.Result, error) {
	call, err := p.prepare(ctx, name, params)
	if err != nil {
		return nil, err
	}
	return p.client.Call(ctx, call)
}

// Plan asks what a call would change.
func (p *Plugin) Plan(ctx context.Context, name string, params any) (*sdk.Plan, error) {
	call, err := p.prepare(ctx, name, params)
	if err != nil {
		return nil, err
	}
	return p.client.Plan(ctx, call)
}

// RenderError returns the plugin's form of a host's error; nil leaves it to the host.
func (p *Plugin) RenderError(ctx context.Context, name string, params any, failure *sdk.Error) (*sdk.Result, error) {
	return p.client.RenderError(ctx, p.newCall(name, encode(params)), failure)
}

func (p *Plugin) prepare(ctx context.Context, name string, params any) (*tool.Call, error) {
	data := encode(params)
	for _, t := range p.description.Tools {
		if t.Definition.Name != name {
			continue
		}
		if t.Normalizes {
			var err error
			if data, err = p.client.Normalize(ctx, name, data); err != nil {
				return nil, err
			}
		}
		if len(t.Definition.Parameters) > 0 {
			var err error
			if data, err = decode("a parameter of "+name, t.Definition.Parameters, data); err != nil {
				return nil, err
			}
		}
		return p.newCall(name, data), nil
	}
	return nil, tool.Errorf(tool.NotFound, "the plugin has no tool %q", name).Suggest("It may have another name.")
}

func encode(params any) json.RawMessage {
	switch v := params.(type) {
	case nil:
		return json.RawMessage("{}")
	case json.RawMessage:
		return v
	case string:
		return json.RawMessage(v)
	}
	return tool.MustMarshal(params)
}

func (p *Plugin) newCall(name string, params json.RawMessage) *tool.Call {
	p.steps++
	return &tool.Call{
		Tool: name, Session: "test", RequestID: fmt.Sprintf("test_%d", p.steps), Step: p.steps,
		Params: params, Workspace: p.Root, Host: p.Host,
	}
}
