// Package pluginclient is the host's side of the plugin protocol, in terms of host/tool.
package pluginclient

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// ErrConnection is wrapped by errors of the connection or the protocol rather than the call.
var ErrConnection = errors.New("plugin connection failed")

// ErrHung is wrapped, besides ErrConnection, if a cancelled call did not answer in time.
var ErrHung = errors.New("plugin does not answer")

// connectionError wraps its cause, and matches ErrConnection and ErrHung.
type connectionError struct {
	cause error
	hung  bool
}

func (e *connectionError) Error() string { return e.cause.Error() }
func (e *connectionError) Unwrap() error { return e.cause }
func (e *connectionError) Is(target error) bool {
	return target == ErrConnection || e.hung && target == ErrHung
}

func broken(err error) error { return &connectionError{cause: err} }

// Client is one connection to a plugin.
type Client struct {
	rpc      toolpb.PluginClient
	grace    time.Duration
	version  int
	trusted  bool
	services atomic.Pointer[[]string] // as last declared
}

// New returns a client for a protocol version. grace is how long a cancelled call has to answer.
func New(conn grpc.ClientConnInterface, version int, grace time.Duration) *Client {
	return &Client{rpc: toolpb.NewPluginClient(conn), version: version, grace: grace}
}

// Trusted makes the client serve every service, declared or not, for plugins of the host.
func (c *Client) Trusted() *Client {
	c.trusted = true
	return c
}

// Version returns the agreed protocol version.
func (c *Client) Version() int { return c.version }

// answers reports whether the plugin may use a service.
func (c *Client) answers(service string) bool {
	if c.trusted || c.version < wire.DeclaredServices {
		return true
	}
	declared := c.services.Load()
	return declared != nil && slices.Contains(*declared, service)
}

// Description is a plugin's description.
type Description struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	Tools        []Tool          `json:"tools"`
	Features     []string        `json:"features,omitempty"`
	Services     []string        `json:"services,omitempty"`
}

// Tool is a definition and the tool's optional interfaces.
type Tool struct {
	Definition    *tool.Definition `json:"definition"`
	Plans         bool             `json:"plans,omitempty"`
	RendersErrors bool             `json:"renders_errors,omitempty"`
	Normalizes    bool             `json:"normalizes,omitempty"`
	Commands      bool             `json:"commands,omitempty"`
}

// Setup is the host's information for a plugin before its first call.
type Setup struct {
	Config json.RawMessage
	Root   string
	Allow  []string
	// Protect is nil for the default and empty for no protection.
	Protect     []string
	Symlinks    string
	HostVersion string
}

// Describe requests the description.
func (c *Client) Describe(ctx context.Context) (*Description, error) {
	resp, err := c.rpc.Describe(ctx, &toolpb.DescribeRequest{})
	if err != nil {
		return nil, broken(err)
	}
	return c.description(resp.GetDescription()), nil
}

// Configure configures the plugin and returns its new description.
func (c *Client) Configure(ctx context.Context, s Setup) (*Description, error) {
	resp, err := c.rpc.Configure(ctx, &toolpb.ConfigureRequest{
		Config:      s.Config,
		HostVersion: s.HostVersion,
		Workspace: &toolpb.Workspace{
			Root: s.Root, Allow: s.Allow, Protect: s.Protect, Symlinks: s.Symlinks,
			ProtectNothing: s.Protect != nil && len(s.Protect) == 0,
		},
	})
	if err != nil {
		return nil, broken(err)
	}
	if e := wire.DecodeError(resp.GetError()); e != nil {
		return nil, e
	}
	return c.description(resp.GetDescription()), nil
}

func (c *Client) description(d *toolpb.Description) *Description {
	services := d.GetServices()
	c.services.Store(&services)
	out := &Description{
		Name:         d.GetName(),
		Version:      d.GetVersion(),
		ConfigSchema: d.GetConfigSchema(),
		Features:     d.GetFeatures(),
		Services:     services,
	}
	for _, t := range d.GetTools() {
		out.Tools = append(out.Tools, Tool{
			Definition:    c.sanitized(wire.DecodeDefinition(t)),
			Plans:         t.GetPlans(),
			RendersErrors: t.GetRendersErrors(),
			Normalizes:    t.GetNormalizes(),
			Commands:      t.GetCommands(),
		})
	}
	return out
}

// sanitized cleans a foreign plugin's texts about a tool.
func (c *Client) sanitized(d *tool.Definition) *tool.Definition {
	if c.trusted {
		return d
	}
	d.Title, d.Category = show.SanitizeLine(d.Title, show.MostName), show.SanitizeLine(d.Category, show.MostName)
	d.Description = show.Sanitize(d.Description, show.MostText)
	if said := show.SanitizeSchema(d.Parameters); said != nil || len(d.Parameters) == 0 {
		d.Parameters = said
	} else {
		d.Parameters = json.RawMessage(schema.Unseen)
	}
	d.Returns = show.SanitizeSchema(d.Returns)
	return d
}

// Plan asks what a call would change.
func (c *Client) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	resp, err := c.rpc.Plan(ctx, &toolpb.PlanRequest{Call: wire.EncodeCall(ctx, call)})
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	return wire.DecodePlan(resp)
}

// RenderError requests the plugin's form of an error, or nil.
func (c *Client) RenderError(ctx context.Context, call *tool.Call, failure *tool.Error) (*tool.Result, error) {
	resp, err := c.rpc.RenderError(ctx,
		&toolpb.RenderErrorRequest{Call: wire.EncodeCall(ctx, call), Error: wire.EncodeError(failure)})
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	return checked(wire.DecodeResult(resp.GetResult()))
}

// Normalize requests the form of params that the tool's schema describes.
func (c *Client) Normalize(ctx context.Context, name string, params json.RawMessage) (json.RawMessage, error) {
	resp, err := c.rpc.Normalize(ctx, &toolpb.NormalizeRequest{Tool: name, Params: params})
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	if !json.Valid(resp.GetParams()) {
		return nil, broken(errors.New("the plugin gave parameters that are not valid JSON"))
	}
	return resp.GetParams(), nil
}

// CommandLine asks which program a call would run, if any.
func (c *Client) CommandLine(ctx context.Context, call *tool.Call) ([]string, error) {
	resp, err := c.rpc.CommandLine(ctx, &toolpb.CommandLineRequest{Call: wire.EncodeCall(ctx, call)})
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	return wire.DecodeCommandLine(resp)
}

// interrupted distinguishes a cancelled request from a failed one.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return broken(err)
}

// checked refuses a result that would break its JSON encoding.
func checked(r *tool.Result) (*tool.Result, error) {
	if r == nil || r.Structured == nil || json.Valid(r.Structured) {
		return r, nil
	}
	return nil, tool.Errorf(tool.Internal, "the plugin gave structured data that is not valid JSON").
		Suggest("This is a mistake in the plugin; tell its author.")
}
