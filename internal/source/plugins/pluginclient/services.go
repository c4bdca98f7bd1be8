package pluginclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

func (s *session) serve(ctx context.Context, req *toolpb.ServiceRequest) (*toolpb.ServiceResponse, error) {
	if name := serviceName(req); name != "" && !s.client.answers(name) {
		return nil,
			tool.Errorf(tool.PermissionDenied, "the plugin uses the service %s without having declared it", name).
				Suggest("The plugin's author has to name it among the plugin's services.")
	}
	switch r := req.GetService().(type) {
	case *toolpb.ServiceRequest_Emit:
		return s.emit(ctx, r.Emit)
	case *toolpb.ServiceRequest_Ask:
		return s.ask(ctx, r.Ask)
	case *toolpb.ServiceRequest_Sample:
		return s.sample(ctx, r.Sample)
	case *toolpb.ServiceRequest_State:
		return s.state(ctx, r.State)
	case *toolpb.ServiceRequest_CallTool:
		return s.callTool(ctx, r.CallTool)
	}
	return nil, tool.Errorf(tool.Unsupported, "this host does not know the service that the plugin asks for").
		Suggest("Use a newer toolhost, or an older version of the plugin.")
}

// serviceName returns the service's name in a plugin's description, or "".
func serviceName(req *toolpb.ServiceRequest) string {
	switch req.GetService().(type) {
	case *toolpb.ServiceRequest_Emit:
		return "emit"
	case *toolpb.ServiceRequest_Ask:
		return "ask"
	case *toolpb.ServiceRequest_Sample:
		return "sample"
	case *toolpb.ServiceRequest_State:
		return "state"
	case *toolpb.ServiceRequest_CallTool:
		return "call_tool"
	}
	return ""
}

func (s *session) emit(ctx context.Context, r *toolpb.Emit) (*toolpb.ServiceResponse, error) {
	if !json.Valid(r.GetPayload()) {
		return nil, invalidJSON("the payload of event " + r.GetEvent())
	}
	return &toolpb.ServiceResponse{}, s.call.Emit(ctx, r.GetEvent(), json.RawMessage(r.GetPayload()))
}

func invalidJSON(what string) error {
	return tool.Errorf(tool.InvalidArgument, "%s is not valid JSON", what).Suggest("Send JSON text in UTF-8.")
}

func (s *session) ask(ctx context.Context, r *toolpb.Ask) (*toolpb.ServiceResponse, error) {
	a, err := s.call.Ask(ctx, r.GetKey(), wire.DecodeForm(r.GetForm()))
	if err != nil {
		return nil, err
	}
	return &toolpb.ServiceResponse{Service: &toolpb.ServiceResponse_Answer{
		Answer: &toolpb.Answer{Action: a.Action, Content: a.Content},
	}}, nil
}

func (s *session) sample(ctx context.Context, r *toolpb.Sample) (*toolpb.ServiceResponse, error) {
	out, err := s.call.Sample(ctx, tool.SampleRequest{
		System:    string(r.GetSystem()),
		Prompt:    string(r.GetPrompt()),
		MaxTokens: int(r.GetMaxTokens()),
	})
	if err != nil {
		return nil, err
	}
	return &toolpb.ServiceResponse{Service: &toolpb.ServiceResponse_Sample{
		Sample: &toolpb.SampleResponse{Text: []byte(out.Text), Model: out.Model},
	}}, nil
}

func (s *session) callTool(ctx context.Context, r *toolpb.CallTool) (*toolpb.ServiceResponse, error) {
	params := json.RawMessage(r.GetParams())
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if !json.Valid(params) {
		return nil, invalidJSON("the parameters of " + r.GetName())
	}
	out, err := s.call.CallTool(ctx, r.GetName(), params)
	if err != nil {
		return nil, err
	}
	return &toolpb.ServiceResponse{Service: &toolpb.ServiceResponse_Result{Result: wire.EncodeResult(out)}}, nil
}

func (s *session) state(ctx context.Context, r *toolpb.StateRequest) (*toolpb.ServiceResponse, error) {
	scope := tool.Scope(r.GetScope())
	if scope != tool.SessionScope && scope != tool.PersistentScope {
		return nil, tool.Errorf(tool.InvalidArgument, "no state has the scope %q", scope).
			Suggest("Use session or persistent.")
	}
	out, err := stateOperation(ctx, s.call.State(scope), r)
	if err != nil {
		return nil, err
	}
	return &toolpb.ServiceResponse{Service: &toolpb.ServiceResponse_State{State: out}}, nil
}

func stateOperation(ctx context.Context, store tool.State, r *toolpb.StateRequest) (*toolpb.StateResponse, error) {
	switch op := r.GetOperation().(type) {
	case *toolpb.StateRequest_Get:
		value, ok, err := store.Get(ctx, op.Get.GetKey())
		return &toolpb.StateResponse{Value: present(value, ok)}, err
	case *toolpb.StateRequest_Set:
		return &toolpb.StateResponse{}, store.Set(ctx, op.Set.GetKey(), present(op.Set.GetValue(), true))
	case *toolpb.StateRequest_Swap:
		return swap(ctx, store, op.Swap)
	case *toolpb.StateRequest_Delete:
		return &toolpb.StateResponse{}, store.Delete(ctx, op.Delete.GetKey())
	case *toolpb.StateRequest_Keys:
		keys, err := store.Keys(ctx, op.Keys.GetPrefix())
		return &toolpb.StateResponse{Keys: keys}, err
	}
	return nil, tool.Errorf(tool.Unsupported, "this host does not know the state operation that the plugin asks for").
		Suggest("Use a newer toolhost, or an older version of the plugin.")
}

var errNotSwapped = errors.New("not swapped")

// swap stores the new value if the current one is the old one. Nil means no value, so an empty value must not be
// nil.
func swap(ctx context.Context, store tool.State, r *toolpb.StateSwap) (*toolpb.StateResponse, error) {
	out := &toolpb.StateResponse{Swapped: true}
	err := store.Update(ctx, r.GetKey(), func(current []byte) ([]byte, error) {
		if (current == nil) != (r.Old == nil) || !bytes.Equal(current, r.Old) {
			out = &toolpb.StateResponse{Value: bytes.Clone(current)}
			return nil, errNotSwapped
		}
		return r.New, nil
	})
	if err != nil && !errors.Is(err, errNotSwapped) {
		return nil, err
	}
	return out, nil
}

// present returns a non-nil value if it exists, else nil.
func present(value []byte, ok bool) []byte {
	if !ok {
		return nil
	}
	if value == nil {
		return []byte{}
	}
	return value
}
