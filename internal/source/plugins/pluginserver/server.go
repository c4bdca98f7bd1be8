// Package pluginserver serves tools over the plugin protocol.
package pluginserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// Setup is the host's configuration of a plugin.
type Setup struct {
	Config       json.RawMessage
	Root         string
	Allow        []string
	Protect      []string
	Symlinks     string
	HostVersion  string
	HostFeatures []string
}

// Plugin is the plugin that a server serves.
type Plugin struct {
	Name, Version string
	ConfigSchema  json.RawMessage
	// Tools are offered until Configure replaces them.
	Tools []tool.Tool
	// Configure may be nil. Nil tools keep the present ones.
	Configure func(context.Context, Setup) ([]tool.Tool, error)
	// RenderError serves tools that are not an ErrorRenderer. May be nil.
	RenderError func(*tool.Call, *tool.Error) *tool.Result
	// Services are the host's services that the tools use.
	Services []string
	Logger   *slog.Logger
}

// Server serves one plugin.
type Server struct{ rpc *server }

// New returns a server. It fails if the tools conflict.
func New(p Plugin) (*Server, error) {
	s := &server{plugin: p}
	if p.Name == "" {
		return nil, errors.New("the plugin has no name")
	}
	if err := s.offer(p.Tools); err != nil {
		return nil, err
	}
	return &Server{rpc: s}, nil
}

// Register adds the server's service to a gRPC server.
func (s *Server) Register(registrar grpc.ServiceRegistrar) {
	toolpb.RegisterPluginServer(registrar, s.rpc)
}

// Describe returns the plugin's description as JSON, for people and for checks at installation.
func (s *Server) Describe() json.RawMessage {
	p := s.rpc.plugin
	definitions := make([]*tool.Definition, 0, len(p.Tools))
	for _, t := range p.Tools {
		definitions = append(definitions, t.Definition())
	}
	data := tool.MustMarshal(struct {
		Name         string             `json:"name"`
		Version      string             `json:"version"`
		Protocol     []int              `json:"protocol_versions"`
		Services     []string           `json:"services,omitempty"`
		ConfigSchema json.RawMessage    `json:"config_schema,omitempty"`
		Tools        []*tool.Definition `json:"tools"`
	}{p.Name, p.Version, wire.Versions(), p.Services, p.ConfigSchema, definitions})
	var out bytes.Buffer
	_ = json.Indent(&out, data, "", "  ")
	return out.Bytes()
}

type server struct {
	toolpb.UnimplementedPluginServer
	plugin Plugin

	mu    sync.RWMutex
	order []tool.Tool
	tools map[string]tool.Tool
}

func (s *server) offer(tools []tool.Tool) error {
	byName := make(map[string]tool.Tool, len(tools))
	for _, t := range tools {
		d := t.Definition()
		switch {
		case d.Name == "":
			return fmt.Errorf("plugin %s: a tool has no name", s.plugin.Name)
		case byName[d.Name] != nil:
			return fmt.Errorf("plugin %s: two tools are called %q", s.plugin.Name, d.Name)
		case !d.Risk.Valid():
			return fmt.Errorf("plugin %s: tool %q has risk %q; want read_only, safe_write or dangerous", s.plugin.Name,
				d.Name, d.Risk)
		}
		byName[d.Name] = t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order, s.tools = tools, byName
	return nil
}

func (s *server) tool(name string) (tool.Tool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t, ok := s.tools[name]; ok {
		return t, nil
	}
	return nil, tool.Errorf(tool.NotFound, "plugin %s has no tool %q", s.plugin.Name, name).
		Suggest("List the tools again; the plugin may have changed.")
}

func (s *server) description() *toolpb.Description {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := &toolpb.Description{
		Name:         s.plugin.Name,
		Version:      s.plugin.Version,
		ConfigSchema: s.plugin.ConfigSchema,
		Services:     s.plugin.Services,
	}
	for _, t := range s.order {
		p := wire.EncodeTool(t)
		p.RendersErrors = p.RendersErrors || s.plugin.RenderError != nil
		d.Tools = append(d.Tools, p)
	}
	return d
}

// Describe implements the protocol.
func (s *server) Describe(context.Context, *toolpb.DescribeRequest) (*toolpb.DescribeResponse, error) {
	return &toolpb.DescribeResponse{Description: s.description()}, nil
}

// Configure implements the protocol.
func (s *server) Configure(ctx context.Context, req *toolpb.ConfigureRequest) (*toolpb.ConfigureResponse, error) {
	if err := s.configure(ctx, req); err != nil {
		return &toolpb.ConfigureResponse{Error: wire.EncodeError(err)}, nil
	}
	return &toolpb.ConfigureResponse{Description: s.description()}, nil
}

func (s *server) configure(ctx context.Context, req *toolpb.ConfigureRequest) (err error) {
	if s.plugin.Configure == nil {
		return nil
	}
	defer s.guard("Configure", &err)
	tools, err := s.plugin.Configure(ctx, setup(req))
	if err != nil || tools == nil {
		return err
	}
	return s.offer(tools)
}

func setup(req *toolpb.ConfigureRequest) Setup {
	ws := req.GetWorkspace()
	config := req.GetConfig()
	if len(config) == 0 {
		config = []byte("{}")
	}
	protect := ws.GetProtect()
	if len(protect) == 0 && ws.GetProtectNothing() {
		protect = []string{}
	}
	return Setup{
		Config:       config,
		Root:         ws.GetRoot(),
		Allow:        ws.GetAllow(),
		Protect:      protect,
		Symlinks:     ws.GetSymlinks(),
		HostVersion:  req.GetHostVersion(),
		HostFeatures: req.GetHostFeatures(),
	}
}

// Plan implements the protocol.
func (s *server) Plan(ctx context.Context, req *toolpb.PlanRequest) (*toolpb.PlanResponse, error) {
	t, err := s.tool(req.GetCall().GetTool())
	if err != nil {
		return wire.EncodePlan(nil, err), nil
	}
	planner, ok := t.(tool.Planner)
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "tool %q makes no plans", req.GetCall().GetTool())
	}
	return wire.EncodePlan(s.plan(ctx, planner, wire.DecodeCall(req.GetCall()))), nil
}

func (s *server) plan(ctx context.Context, t tool.Planner, call *tool.Call) (p *tool.Plan, err error) {
	defer s.guard(call.Tool, &err)
	return t.Plan(ctx, call)
}

// RenderError implements the protocol.
func (s *server) RenderError(_ context.Context, req *toolpb.RenderErrorRequest) (*toolpb.RenderErrorResponse, error) {
	call, failure := wire.DecodeCall(req.GetCall()), wire.DecodeError(req.GetError())
	if failure == nil {
		return nil, status.Error(codes.InvalidArgument, "no error to render")
	}
	result, err := s.renderError(call, failure)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &toolpb.RenderErrorResponse{Result: wire.EncodeResult(result)}, nil
}

func (s *server) renderError(call *tool.Call, failure *tool.Error) (r *tool.Result, err error) {
	defer s.guard("RenderError", &err)
	t, _ := s.tool(call.Tool)
	if renderer, ok := t.(tool.ErrorRenderer); ok {
		return renderer.RenderError(call, failure), nil
	}
	if s.plugin.RenderError != nil {
		return s.plugin.RenderError(call, failure), nil
	}
	return nil, nil
}

// Normalize implements the protocol.
func (s *server) Normalize(_ context.Context, req *toolpb.NormalizeRequest) (resp *toolpb.NormalizeResponse,
	err error) {
	t, err := s.tool(req.GetTool())
	if err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	n, ok := t.(tool.Normalizer)
	if !ok {
		return &toolpb.NormalizeResponse{Params: req.GetParams()}, nil
	}
	defer s.guard(req.GetTool(), &err)
	return &toolpb.NormalizeResponse{Params: n.Normalize(req.GetParams())}, nil
}

// CommandLine implements the protocol.
func (s *server) CommandLine(ctx context.Context, req *toolpb.CommandLineRequest) (*toolpb.CommandLineResponse, error) {
	t, err := s.tool(req.GetCall().GetTool())
	if err != nil {
		return wire.EncodeCommandLine(nil, err), nil
	}
	c, ok := t.(tool.Commander)
	if !ok {
		return &toolpb.CommandLineResponse{}, nil
	}
	return wire.EncodeCommandLine(s.commandLine(ctx, c, wire.DecodeCall(req.GetCall()))), nil
}

func (s *server) commandLine(ctx context.Context, c tool.Commander, call *tool.Call) (argv []string, err error) {
	defer s.guard(call.Tool, &err)
	return c.CommandLine(ctx, call)
}

// guard turns a panic of the plugin's code into an error, and logs its stack.
func (s *server) guard(what string, err *error) {
	v := recover()
	if v == nil {
		return
	}
	s.plugin.Logger.Error("panic", "in", what, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	*err = tool.Errorf(tool.Internal, "%s of plugin %s panicked: %v", what, s.plugin.Name, v).
		Suggest("This is a mistake in the plugin; its log has the stack.")
}
