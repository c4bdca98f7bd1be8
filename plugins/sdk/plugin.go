package sdk

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"reflect"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginserver"
	"github.com/toolhost/toolhost/plugins/sdk/typed"
)

// Plugin is what a plugin offers.
type Plugin struct {
	// Name is the plugin's name. It is required.
	Name string
	// Version is the plugin's version, such as "1.2.0".
	Version string
	// Tools are the plugin's tools. If they need the configuration or workspace, make them in
	// Configure, and list here what they will be, so that they can be described beforehand.
	Tools []Tool
	// ConfigSchema is the JSON Schema of the configuration, an object schema; [Schema] infers one from
	// a struct. Empty means no configuration.
	ConfigSchema json.RawMessage
	// Configure is called once, before the first call of a tool. The returned tools replace Tools; nil keeps
	// them. An error prevents the plugin's use, and is shown to the user. May be nil.
	Configure func(ctx context.Context, env Env) ([]Tool, error)
	// RenderError turns an error of the host, such as an unknown parameter, into the plugin's own result shape; nil
	// leaves it to the host. It serves all tools that are no [ErrorRenderer]. May be nil.
	RenderError func(call *Call, err *Error) *Result
	// Services are the host's services that the tools use; others are refused, except progress and log.
	// They are shown to the user before the plugin first runs.
	Services []Service
	// Logger logs panics. Nil logs to standard error, which the host logs.
	Logger *slog.Logger
}

// Service is a service of the host for a tool during a call.
type Service string

// Services for [Plugin.Services].
const (
	ServiceEmit     Service = "emit"      // Call.Emit: an event in the session's record
	ServiceAsk      Service = "ask"       // Call.Ask: a question to the user
	ServiceSample   Service = "sample"    // Call.Sample: a question to a language model
	ServiceState    Service = "state"     // Call.State: state between calls
	ServiceCallTool Service = "call_tool" // Call.CallTool: another tool, under the user's policy
)

// Env is a plugin's configuration and environment.
type Env struct {
	// Config is the configuration as a JSON object, "{}" if there is none.
	Config json.RawMessage
	// Workspace is where the tools work.
	Workspace Workspace
	// HostVersion is the version of toolhost.
	HostVersion string
}

// Workspace is where tools may work.
type Workspace struct {
	// Root is the absolute path of the workspace.
	Root string
	// Allow are further absolute directories.
	Allow []string
	// Protect are globs, relative to Root, of files that tools must not write. Nil means the default ones, such as
	// .git; an empty list means none.
	Protect []string
	// Symlinks selects the symbolic links to follow: "inside" (the default) those that stay inside, "block" none.
	Symlinks string
}

// Decode stores the configuration in v, a pointer to a struct. If the plugin declares a schema, unknown and
// mistyped settings were refused before.
func (e Env) Decode(v any) error {
	if err := json.Unmarshal(e.Config, v); err != nil {
		return tool.Errorf(tool.InvalidArgument, "cannot read the configuration: %w", err).
			Suggest("Give every setting the type that the plugin asks for.")
	}
	return nil
}

// Schema infers the JSON Schema of T, for [Plugin.ConfigSchema]; see [typed.Schema]. It panics if T has none.
func Schema[T any]() json.RawMessage {
	schema, err := typed.Schema(reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	return schema
}

// Register adds the plugin to a gRPC server, for tests without a process; [Serve] does so itself.
func (p Plugin) Register(registrar grpc.ServiceRegistrar) error {
	s, err := p.server()
	if err != nil {
		return err
	}
	s.Register(registrar)
	return nil
}

// Describe returns the plugin's description as indented JSON.
func (p Plugin) Describe() (json.RawMessage, error) {
	s, err := p.server()
	if err != nil {
		return nil, err
	}
	return s.Describe(), nil
}

func (p Plugin) server() (*pluginserver.Server, error) {
	s := pluginserver.Plugin{
		Name:         p.Name,
		Version:      p.Version,
		ConfigSchema: p.ConfigSchema,
		Tools:        p.Tools,
		RenderError:  p.RenderError,
		Services:     serviceNames(p.Services),
		Logger:       p.Logger,
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if p.Configure != nil {
		s.Configure = func(ctx context.Context, setup pluginserver.Setup) ([]tool.Tool, error) {
			return p.Configure(ctx, env(setup))
		}
	}
	return pluginserver.New(s)
}

func serviceNames(services []Service) []string {
	var names []string
	for _, s := range services {
		names = append(names, string(s))
	}
	return names
}

func env(s pluginserver.Setup) Env {
	return Env{
		Config:      s.Config,
		HostVersion: s.HostVersion,
		Workspace:   Workspace{Root: s.Root, Allow: s.Allow, Protect: s.Protect, Symlinks: s.Symlinks},
	}
}
