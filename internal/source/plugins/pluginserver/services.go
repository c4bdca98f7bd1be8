package pluginserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// services gives a call access to the host's services over its stream.
type services struct {
	stream toolpb.Plugin_CallServer
	sendMu sync.Mutex

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan *toolpb.ServiceResponse
}

var _ tool.Services = (*services)(nil)

func (s *services) send(m *toolpb.CallResponse) error {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	return s.stream.Send(m)
}

func (s *services) receive(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return
		}
		switch m := m.GetMessage().(type) {
		case *toolpb.CallRequest_Cancel:
			cause := context.Canceled
			if tool.Code(m.Cancel.GetCode()) == tool.Timeout {
				// Near ctx's own deadline the host's timeout adds nothing, and would become a cancellation.
				if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < time.Second {
					continue
				}
				cause = context.DeadlineExceeded
			}
			cancel(cause)
		case *toolpb.CallRequest_Response:
			s.deliver(m.Response)
		}
	}
}

func (s *services) deliver(r *toolpb.ServiceResponse) {
	s.mu.Lock()
	ch := s.waiting[r.GetId()]
	delete(s.waiting, r.GetId())
	s.mu.Unlock()
	if ch != nil {
		ch <- r
	}
}

// ask sends a request and waits for the answer or the end of ctx.
func (s *services) ask(ctx context.Context, req *toolpb.ServiceRequest) (*toolpb.ServiceResponse, error) {
	ch := make(chan *toolpb.ServiceResponse, 1)
	s.mu.Lock()
	s.next++
	req.Id = s.next
	s.waiting[req.Id] = ch
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, req.Id)
	}()

	if err := s.send(&toolpb.CallResponse{Message: &toolpb.CallResponse_Request{Request: req}}); err != nil {
		return nil, gone(err)
	}
	select {
	case r := <-ch:
		if e := wire.DecodeError(r.GetError()); e != nil {
			return nil, e
		}
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.stream.Context().Done():
		return nil, gone(s.stream.Context().Err())
	}
}

func gone(err error) error {
	return tool.Errorf(tool.Unavailable, "the host no longer listens to this call: %w", err).
		Suggest("Use the services of a call only until it has returned.")
}

func (s *services) Progress(_ context.Context, p tool.Progress) {
	_ = s.send(&toolpb.CallResponse{Message: &toolpb.CallResponse_Progress{Progress: wire.EncodeProgress(p)}})
}

func (s *services) Log(_ context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	_ = s.send(&toolpb.CallResponse{Message: &toolpb.CallResponse_Log{Log: wire.EncodeLog(level, message, attrs)}})
}

func (s *services) Emit(ctx context.Context, event string, payload any) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return tool.Errorf(tool.InvalidArgument, "the payload of event %s is not valid JSON: %w", event, err).
			Suggest("Emit values that encoding/json can write.")
	}
	_, err = s.ask(ctx, &toolpb.ServiceRequest{Service: &toolpb.ServiceRequest_Emit{
		Emit: &toolpb.Emit{Event: event, Payload: data},
	}})
	return err
}

func (s *services) Ask(ctx context.Context, key string, form tool.Form) (tool.Answer, error) {
	if form.URL != "" {
		return tool.Answer{},
			tool.Errorf(tool.Unsupported, "a plugin cannot ask the user to visit a page: %s", form.Message).
				Suggest("Ask in words, or declare the MCP server that asks in an mcp block, so that the host calls it.")
	}
	r, err := s.ask(ctx, &toolpb.ServiceRequest{Service: &toolpb.ServiceRequest_Ask{
		Ask: &toolpb.Ask{Key: key, Form: wire.EncodeForm(form)},
	}})
	if err != nil {
		return tool.Answer{}, err
	}
	if q := r.GetInputRequired(); q != nil {
		return tool.Answer{}, wire.DecodeInputRequired(q)
	}
	return tool.Answer{Action: r.GetAnswer().GetAction(), Content: r.GetAnswer().GetContent()}, nil
}

func (s *services) Sample(ctx context.Context, req tool.SampleRequest) (*tool.SampleResponse, error) {
	if len(req.Messages) > 0 {
		return nil, tool.Errorf(tool.Unsupported,
			"a plugin can ask a model with a text only").Suggest("Put all of it into the prompt.")
	}
	r, err := s.ask(ctx, &toolpb.ServiceRequest{Service: &toolpb.ServiceRequest_Sample{Sample: &toolpb.Sample{
		System: []byte(req.System), Prompt: []byte(req.Prompt), MaxTokens: int64(req.MaxTokens),
	}}})
	if err != nil {
		return nil, err
	}
	if q := r.GetInputRequired(); q != nil {
		return nil, wire.DecodeInputRequired(q)
	}
	return &tool.SampleResponse{Text: string(r.GetSample().GetText()), Model: r.GetSample().GetModel()}, nil
}

func (s *services) CallTool(ctx context.Context, name string, params json.RawMessage) (*tool.Result, error) {
	r, err := s.ask(ctx, &toolpb.ServiceRequest{Service: &toolpb.ServiceRequest_CallTool{
		CallTool: &toolpb.CallTool{Name: name, Params: params},
	}})
	if err != nil {
		return nil, err
	}
	if q := r.GetInputRequired(); q != nil {
		return nil, wire.DecodeInputRequired(q)
	}
	return wire.DecodeResult(r.GetResult()), nil
}

func (s *services) State(scope tool.Scope) tool.State { return state{s, scope} }
